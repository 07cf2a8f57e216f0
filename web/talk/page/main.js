// The page: what its buttons do, and how it shows what becomes of the call.

import { Call, Problem } from './call.js'
import { Conversation, phases } from './conversation.js'
import { canChoose, echoTest, list, microphone, speakOn } from './devices.js'
import { byID, h, say } from './dom.js'
import { Ear } from './ear.js'
import { gaps, shown } from './figures.js'
import { help, waits } from './help.js'
import { Levels } from './levels.js'
import { keepKey, key, load, save, session } from './settings.js'
import { SocketCall } from './socket.js'
import { transcript } from './transcript.js'

const settings = load()
let secret = key()
let about = { routes: [], webrtc: true, traces: false, keys: false }

let conversation = new Conversation()
let ear = new Ear()
let call = null
let levels = null
let stream = null // Of the microphone.
let muted = false
let starting = false // A call is asked for, and its microphone.
let way = 'idle' // Of the call itself, where that is not up to the conversation: idle, connecting, reconnecting or ended; null while it is.
let waiting = null // Until a refused call is tried again.
let returns = 0 // How often a call that was lost is still to be begun anew while the service cannot be reached.
let overSocket = false // WebRTC did not come through.
let unsent = null // What was written before there was a call.

const draw = transcript(byID('transcript'))
const panel = byID('call')
const voice = byID('voice')

const phase = () => way ?? conversation.phase

// show brings the page up to what there is.
function show() {
  const now = phase()
  const [name, hint] = phases[now]
  if (panel.dataset.phase !== now) {
    panel.dataset.phase = now
    byID('phase').textContent = name
    byID('hint').textContent = hint
    say(name)
  }
  const on = starting || call !== null
  byID('talk-text').textContent = on ? 'Hang up' : 'Talk'
  byID('talk').classList.toggle('on', on)
  byID('mute').hidden = !stream
  byID('mute').setAttribute('aria-pressed', muted)
  draw(conversation.entries)
}

// figures shows the turns.
let figuresOf = null
function figures() {
  const turn = conversation.fresh ?? conversation.turns.at(-1)
  const state = turn && `${turn.response} ${turn.verdict} ${turn.ear} ${conversation.turns.length} ${byID('turn').clientWidth}`
  if (!turn || state === figuresOf) return
  figuresOf = state
  byID('turn').replaceChildren(...shown(turn, byID('turn').clientWidth, about.traces).filter(Boolean))
  if (conversation.turns.length) byID('gaps').replaceChildren(...gaps(conversation.turns, byID('gaps').clientWidth))
}
new ResizeObserver(figures).observe(byID('turn'))

// tell shows what is in the way, and how to mend it.
function tell(code, details = {}) {
  const { title, text, steps = [], commands = [] } = help(code, { host: location.host, ...details })
  byID('help').replaceChildren(h('div', { class: 'help', 'data-code': code }, h('h2', {}, title), h('p', {}, text),
    steps.length ? h('ol', {}, steps.map((step, i) => h('li', {}, step, commands[i] ? h('code', {}, commands[i]) : null))) : null,
    h('button', { type: 'button', class: 'close', onclick: clear }, 'Close')))
}

function clear() {
  clearTimeout(waiting)
  waiting = null
  byID('help').replaceChildren()
}

// begin makes a call; with sound, unless nobody can be heard or only something is to be written.
async function begin({ silent = false, again = false } = {}) {
  if (starting || call) return
  starting = true
  if (!again) clear()
  way = again ? 'reconnecting' : 'connecting'
  show()
  try {
    if (!about.webrtc || !window.RTCPeerConnection) overSocket = true
    if (overSocket && !canPlay()) throw new Problem('no_webrtc', '')
    await listen(silent)
  } catch (error) {
    starting = false
    ended(error instanceof Problem ? error : new Problem(error.name, error.message))
    return
  }
  if (!starting) { // hung up meanwhile
    release()
    return
  }
  const next = new (overSocket ? SocketCall : Call)({ session: session(settings), route: settings.route, key: secret, microphone: stream }, {
    event: (e) => { if (call === next) happened(e) },
    state: (s) => { if (call === next) became(s) },
    sound: (remote) => { if (call === next) sounds(remote) },
    ended: (problem) => { if (call === next) { call = null; ended(problem) } },
  })
  call = next
  starting = false
  show()
  await next.start()
}

// canPlay reports whether the browser lets this page make sound of samples, as a call over WebSocket has to.
const canPlay = () => 'AudioWorkletNode' in window && window.isSecureContext

// listen opens the microphone, and what measures both sides. What goes wrong with the microphone is an error, unless it is not needed.
async function listen(silent) {
  if (!silent && !window.isSecureContext) throw new Problem('insecure', '')
  if (!silent && !stream) {
    if (!navigator.mediaDevices) throw new Problem('NotFoundError', '')
    stream = await microphone(settings)
    watch(stream)
    fillDevices()
  }
  levels ??= await Levels.open(measured).catch(() => null) // without it there is a call all the same
  await levels?.wake()
  if (stream) levels?.microphone(stream)
}

// watch says when the microphone is gone.
function watch(of) {
  of.getAudioTracks()[0].addEventListener('ended', () => {
    if (of === stream) tell('NotReadableError')
  })
}

// became takes note of what becomes of the connection.
function became(state) {
  switch (state) {
    case 'broken':
      way = 'reconnecting'
      break
    case 'connected':
    case 'back':
      way = null
      returns = 0
      if (!byID('help').querySelector('[data-code="lost"], [data-code="server_shutdown"]')) clear() // that is to be read
      if (unsent) write(unsent)
      unsent = null
  }
  show()
}

// happened takes an event.
function happened(e) {
  conversation.take(e)
  if (e.type === 'response.created' && conversation.spoken === e.response.id) ear.expect(e.response.id)
  if (e.type === 'error' && e.error.type === 'invalid_request_error' && e.error.code !== 'response_cancel_not_active') tell('refused', { message: e.error.message })
  show()
  figures()
}

// sounds plays the answers.
function sounds(remote) {
  voice.srcObject = remote
  speakOn(voice, settings.speaker)
  voice.play().catch(() => {})
  levels?.answer(remote)
}

// measured takes how loud both sides are.
let loudest = -60
let shownAt = 0
function measured(at, mic, answer) {
  loudest = Math.max(loudest, mic)
  if (at - shownAt > 0.06) {
    byID('level').value = Math.max(loudest, -60)
    loudest = -60
    shownAt = at
  }
  const heard = ear.take(at, mic, answer)
  if (heard) report(heard)
}

// report tells the page and the service when an answer was heard.
async function report({ response, ms }) {
  conversation.heard(response, ms)
  figures()
  const to = call
  const more = await to?.way().catch(() => ({}))
  to?.send({ type: 'riposte.heard', response_id: response, mouth_to_ear_ms: ms, ...more })
}

const mostReturns = 24
const returnAfter = 5 // Seconds.

// ended cleans up behind a call, and says why it ended.
function ended(problem) {
  const lost = problem?.code === 'lost' || problem?.code === 'server_shutdown' // a service that goes down is often one that comes back
  if (lost) returns = mostReturns
  const again = problem?.code === 'unreachable' && returns-- > 0
  if (again) problem.retry = returnAfter
  way = 'ended'
  conversation.broken()
  ear.forget()
  voice.srcObject = null
  levels?.answer(null)
  if (problem?.code === 'unreachable_media' && !overSocket && canPlay()) { // there is another way
    overSocket = true
    begin({ silent: !stream })
    return
  }
  if (problem) tell(problem.code, { message: problem.message, retry: again || waits(problem.code) ? problem.retry : null })
  if (lost) {
    show()
    begin({ again: true, silent: !stream })
    return
  }
  const withSound = Boolean(stream)
  release()
  if (problem?.retry && (again || waits(problem.code))) waiting = setTimeout(() => begin({ again, silent: !withSound }), problem.retry * 1000)
  show()
}

// release lets go of the microphone.
function release() {
  stream?.getTracks().forEach((t) => t.stop())
  stream = null
  muted = false
  levels?.microphone(null)
  byID('level').value = -60
}

function hangUp() {
  clear()
  returns = 0
  unsent = null
  starting = false
  if (call) call.hangUp()
  else ended(null)
}

// write says something in writing.
function write(text) {
  ear.forget()
  call.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } })
  call.send({ type: 'response.cancel' }) // there may be an answer that is not told of yet; one too many does no harm
  call.send({ type: 'response.create' })
}

byID('talk').addEventListener('click', () => (starting || call ? hangUp() : begin()))
byID('mute').addEventListener('click', () => {
  muted = !muted
  stream?.getAudioTracks().forEach((t) => { t.enabled = !muted })
  say(muted ? 'Muted' : 'Not muted')
  show()
})
byID('write').addEventListener('submit', (e) => {
  e.preventDefault()
  const text = byID('text').value.trim()
  if (!text) return
  byID('text').value = ''
  if (call && way === null) {
    write(text)
    return
  }
  unsent = unsent ? `${unsent}\n${text}` : text
  begin({ silent: true })
})
addEventListener('online', () => {
  call?.wake()
  if (waiting !== null && returns > 0) {
    clear()
    begin({ again: true })
  }
})
addEventListener('pagehide', () => call?.hangUp())

// Settings.

const form = byID('settings-form')
const field = (name) => form.elements.namedItem(name)

function fill() {
  for (const name of ['echo', 'noise', 'gain']) field(name).checked = settings[name]
  for (const name of ['instructions', 'eagerness']) field(name).value = settings[name]
  field('key').value = secret
  field('speed').value = settings.speed ?? about.speed ?? 1
  field('route').replaceChildren(...about.routes.map((r, i) => h('option', { value: i ? r : '' }, r)))
  field('route').value = about.routes.includes(settings.route) ? settings.route : ''
  byID('speed-is').textContent = `${Number(field('speed').value).toFixed(2)} ×`
  byID('models').textContent = [about.stt, about.llm, about.tts].filter(Boolean).join(', ')
  byID('key-label').hidden = !about.keys
  fillDevices()
}

function fillDevices() {
  list(field('microphone'), 'audioinput', settings.microphone)
  list(field('speaker'), 'audiooutput', settings.speaker)
  field('speaker').disabled = !canChoose()
}
navigator.mediaDevices?.addEventListener?.('devicechange', fillDevices)

byID('open-settings').addEventListener('click', () => {
  fill()
  byID('settings').showModal()
})

form.addEventListener('input', (e) => {
  if (e.target.name === 'speed') byID('speed-is').textContent = `${Number(e.target.value).toFixed(2)} ×`
})

form.addEventListener('change', async (e) => {
  const { name, type, checked, value } = e.target
  if (name === 'key') {
    keepKey((secret = value.trim()))
    return
  }
  settings[name] = type === 'checkbox' ? checked : name === 'speed' ? Number(value) : value
  save(settings)
  if (name === 'speaker') await speakOn(voice, settings.speaker)
  if (['instructions', 'speed', 'eagerness'].includes(name) && way === null) call?.send({ type: 'session.update', session: session(settings, true) })
  if (['microphone', 'echo', 'noise', 'gain'].includes(name) && stream) await another()
})

// another takes the microphone as it is to be from now on.
async function another() {
  try {
    const next = await microphone(settings)
    const [track] = next.getAudioTracks()
    track.enabled = !muted
    await call?.use(track)
    stream?.getTracks().forEach((t) => t.stop())
    stream = next
    watch(next)
    levels?.microphone(next)
  } catch (error) {
    tell(error.name)
  }
}

byID('echo-test').addEventListener('click', async (e) => {
  e.target.disabled = true
  const state = (text) => { byID('echo-state').textContent = text }
  try {
    if (!navigator.mediaDevices) throw new Problem(window.isSecureContext ? 'NotFoundError' : 'insecure', '')
    await echoTest(settings, state)
    fillDevices()
  } catch (error) {
    const { title } = help(error.code && error instanceof Problem ? error.code : error.name, { message: error.message })
    state(`${title}.`)
  }
  e.target.disabled = false
})

async function start() {
  try {
    about = await (await fetch('/talk/service')).json()
  } catch {
    tell('unreachable')
  }
  byID('traces').hidden = !about.traces
  if (!window.isSecureContext) tell('insecure')
  show()
}

start()
