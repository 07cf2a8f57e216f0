// Tests of what the page knows without a page. Each throws if something is not so; run returns what was wrong.

import { Conversation, heardOf } from '/talk/assets/conversation.js'
import { Ear } from '/talk/assets/ear.js'
import { scaleOf, spoken } from '/talk/assets/figures.js'
import { help, waits } from '/talk/assets/help.js'
import { Resampler } from '/talk/assets/resampler.js'
import { constraints, defaults, parse, session } from '/talk/assets/settings.js'

function same(got, want, what = '') {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what} got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
}

// after returns a conversation after events, and the phases that it went through.
function after(...events) {
  const c = new Conversation()
  const phases = []
  for (const e of events) {
    c.take(e)
    if (phases.at(-1) !== c.phase) phases.push(c.phase)
  }
  return [c, phases]
}

const hypothesis = (item_id, text, stable = '') => ({ type: 'riposte.hypothesis', item_id, text, stable })
const final = (item_id, transcript) => ({ type: 'conversation.item.input_audio_transcription.completed', item_id, transcript })
const event = (type, more = {}) => ({ type, ...more })
const committed = (item_id) => event('input_audio_buffer.committed', { item_id })
const created = (id) => event('response.created', { response: { id } })
const words = (response_id, delta) => event('response.output_audio_transcript.delta', { response_id, delta })
const done = (id, status = 'completed') => event('response.done', { response: { id, status } })
const turn = (response_id, answer, more = {}) => event('riposte.turn', {
  response_id, answer, transcript: 'Who?', verdict: 'met', blame: '', total_ms: 640, stages_ms: { mic: 30, stt: 310, llm: 200, tts: 100 },
  shares_ms: { mic: 40, stt: 300, llm: 400, tts: 150 }, actions: [], continued: false, ...more,
})
const asked = [event('input_audio_buffer.speech_started', { item_id: 'i1' }), hypothesis('i1', 'Who is', 'Who'), hypothesis('i1', 'Who is there', 'Who is'),
  event('input_audio_buffer.speech_stopped', { item_id: 'i1' }), committed('i1'), final('i1', 'Who is there?')]
const answered = [created('r1'), words('r1', 'It is '), event('output_audio_buffer.started', { response_id: 'r1' }), words('r1', 'me, your friend.')]

const tests = {
  'a turn': () => {
    const [c, phases] = after(event('session.created'), ...asked, ...answered, done('r1'), event('output_audio_buffer.stopped', { response_id: 'r1' }), turn('r1', 'It is me, your friend.'))
    same(phases, ['listening', 'hearing', 'thinking', 'speaking', 'listening'])
    same(c.entries.map((e) => [e.role, e.text, e.state]), [['user', 'Who is there?', 'final'], ['agent', 'It is me, your friend.', 'done']])
    same([c.turns.length, c.turns[0].plan, c.turns[0].ear], [1, 890, null])
    same(c.spoken, 'r1')
  },
  'partial words': () => {
    const [c] = after(...asked.slice(0, 3))
    same(c.entries, [{ id: 'i1', role: 'user', text: 'Who is there', stable: 'Who is', state: 'partial' }])
  },
  'words that come behind the end are no new speech': () => same(after(...asked, hypothesis('i1', 'Who is there?'))[1], ['hearing', 'thinking']),
  'a noise leaves nothing behind': () => {
    const [c] = after(hypothesis('i1', 'Hm'), hypothesis('i2', 'Who'))
    same(c.entries.map((e) => e.id), ['i2'])
    const [d, phases] = after(...asked, final('i1', ' '))
    same([d.entries, phases.at(-1)], [[], 'listening'])
  },
  'an interruption shows what was heard': () => {
    const [c, phases] = after(...asked, ...answered, event('riposte.hold'), hypothesis('i2', 'Stop'), event('input_audio_buffer.speech_started', { item_id: 'i2' }),
      event('output_audio_buffer.cleared', { response_id: 'r1' }), done('r1', 'cancelled'), turn('r1', 'It is me,'))
    same(phases.slice(3), ['held', 'hearing'])
    const [, agent, user] = c.entries
    same([agent.state, agent.heard, agent.text, user.state], ['interrupted', 'It is me,', 'It is me, your friend.', 'partial'])
  },
  'a cough does not interrupt': () => {
    const [c, phases] = after(...asked, ...answered, event('riposte.hold'), hypothesis('i2', 'Mm'), event('riposte.release'))
    same(phases.slice(3), ['held', 'speaking'])
    same(c.entries.length, 2)
  },
  'who goes on takes the answer back': () => {
    const [c] = after(...asked, ...answered, event('output_audio_buffer.cleared'), done('r1', 'cancelled'), event('conversation.item.deleted', { item_id: 'i1' }), turn('r1', '', { continued: true, verdict: 'met' }))
    same(c.entries, [])
  },
  'what is written is no speech': () => {
    const [c] = after(event('conversation.item.added', { item: { id: 'i1', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] } }), created('r1'))
    same([c.entries[0].text, c.spoken], ['Hello', null])
  },
  'a silence that is answered is no speech': () => {
    const [c] = after(event('input_audio_buffer.timeout_triggered', { item_id: 'i1' }), committed('i1'), created('r1'))
    same(c.spoken, null)
  },
  'from mouth to ear, before and after the turn': () => {
    const [c] = after(...asked, ...answered)
    c.heard('r1', 700)
    c.take(turn('r1', ''))
    same(c.turns[0].ear, 700)
    const [d] = after(...asked, ...answered, turn('r1', ''))
    d.heard('r1', 710)
    same(d.turns[0].ear, 710)
  },
  'what was heard is known before the turn is': () => {
    const begun = event('session.created', { session: { riposte: { budget: { mode: 'enforce', mic_ms: 40, stt_ms: 300, llm_ms: 600, tts_ms: 150 } } } })
    const [c] = after(begun, ...asked, ...answered)
    c.heard('r1', 700)
    same([c.fresh.response, c.fresh.ear, c.fresh.plan, c.turns.length, spoken(c.fresh)], ['r1', 700, 1090, 0, 'Heard after 700 ms of 1,090 ms.'])
    if (!(scaleOf(c.fresh) >= 1)) throw new Error('it has no bar')
    c.take(turn('r1', ''))
    same([c.fresh, c.turns[0].ear], [null, 700])
    const [d] = after(begun, ...asked, ...answered)
    d.heard('r1', 700)
    d.take(turn('r1', '', { verdict: '' }))
    same([d.fresh, d.turns], [null, []])
    const [e] = after(begun, ...asked, ...answered)
    e.heard('r1', 700)
    e.broken()
    same(e.fresh, null)
  },
  'a greeting has no verdict and is no turn': () => same(after(created('r1'), words('r1', 'Hello.'), done('r1'), turn('r1', 'Hello.', { verdict: '' }))[0].turns, []),
  'a broken call is in the middle of nothing': () => {
    const [c] = after(...asked, ...answered, hypothesis('i2', 'Wait'))
    c.broken()
    same([c.phase, c.entries.map((e) => e.state)], ['listening', ['final', 'interrupted']])
  },
  'turns are not kept without end': () => {
    const [c] = after(...Array.from({ length: 200 }, (_, i) => turn(`r${i}`, 'Yes.')))
    same([c.turns.length, c.turns.at(-1).response], [60, 'r199'])
  },
  'errors are kept': () => same(after(event('error', { error: { code: 'x' } }))[0].problem, { code: 'x' }),
  'what was heard of a text': () => {
    same(heardOf('It is me,  your friend.', 'It is me,'), 'It is me,')
    same(heardOf('It is me.', 'It is me.'), 'It is me.')
    same(heardOf('It is me.', ''), '')
    same(heardOf('It is.', 'It is not me.'), 'It is.')
  },

  'the ear measures from the last voiced window to the first audible one': () => {
    const got = listen([[0, 1, -70, -90], [1, 2, -20, -90], [2, 2.6, -70, -90], [2.6, 3, -70, -30]], { 1.5: 'r1' })
    same(got, [{ response: 'r1', ms: 600 }])
  },
  'a loud room is no voice': () => same(listen([[0, 3, -38, -90], [3, 4, -15, -90], [4, 4.5, -38, -90], [4.5, 5, -38, -30]], { 3.5: 'r1' }), [{ response: 'r1', ms: 500 }]),
  'a click is no voice': () => same(listen([[0, 1, -70, -90], [1, 2, -20, -90], [2, 2.3, -70, -90], [2.3, 2.32, -10, -90], [2.32, 2.6, -70, -90], [2.6, 3, -70, -30]], { 1.5: 'r1' }), [{ response: 'r1', ms: 600 }]),
  'the end of another answer is not the beginning of this one': () =>
    same(listen([[0, 1, -20, -30], [1, 1.05, -70, -90], [1.05, 1.2, -70, -30], [1.2, 1.7, -70, -90], [1.7, 2, -70, -30]], { 1: 'r1' }), [{ response: 'r1', ms: 700 }]),
  'what is softer than -50 dBFS is not audible': () => same(listen([[0, 1, -20, -90], [1, 1.4, -70, -51], [1.4, 2, -70, -49]], { 0.5: 'r1' }), [{ response: 'r1', ms: 400 }]),
  'who said nothing is not answered': () => same(listen([[0, 1, -70, -90], [1, 2, -70, -30]], { 0.5: 'r1' }), []),
  'an answer that is not to be measured is not': () => same(listen([[0, 1, -20, -90], [1, 2, -70, -30]], {}), []),
  'one answer is measured once': () => same(listen([[0, 1, -20, -90], [1, 1.4, -70, -90], [1.4, 2, -70, -30], [2, 3, -70, -90], [3, 4, -70, -30]], { 0.5: 'r1' }), [{ response: 'r1', ms: 400 }]),
  'after more than a minute it is no answer to that': () => same(listen([[0, 1, -20, -90], [1, 62, -70, -90], [62, 63, -70, -30]], { 0.5: 'r1' }), []),

  'settings that make no sense are the usual ones': () => {
    for (const text of [null, '', 'x', '[]', '7', '{"speed":"fast","echo":1,"eagerness":"wild","route":7}', '{"speed":9}']) same(parse(text), defaults, text)
    same(parse('{"speed":1.2,"echo":false,"eagerness":"low","more":1}'), { ...defaults, speed: 1.2, echo: false, eagerness: 'low' })
  },
  'a session asks for no more than was chosen': () => {
    same(session(defaults), { type: 'realtime', include: ['riposte.turn', 'riposte.hypothesis', 'riposte.hold'] })
    same(session({ ...defaults, instructions: ' Be kind. ', eagerness: 'high', speed: 1.1 }, true),
      { type: 'realtime', instructions: 'Be kind.', audio: { input: { turn_detection: { type: 'semantic_vad', eagerness: 'high' } }, output: { speed: 1.1 } } })
    same(session(defaults, true), { type: 'realtime', instructions: null, audio: { output: { speed: null } } })
  },
  'the browser is to cancel echo, suppress noise and control the level, unless told otherwise': () => {
    same(constraints(defaults).audio, { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 })
    same(constraints({ ...defaults, echo: false, microphone: 'm' }).audio, { echoCancellation: false, noiseSuppression: true, autoGainControl: true, channelCount: 1, deviceId: { ideal: 'm' } })
  },

  'a resampler keeps what it hears, loses no sample, and lets nothing fold back': () => {
    for (const [from, to] of [[48000, 24000], [44100, 24000], [24000, 48000], [24000, 44100], [24000, 24000]]) {
      for (const hz of [440, 3000, 9000, 15000]) {
        if (hz > from / 2) continue
        const r = new Resampler(from, to)
        const out = []
        for (let i = 0; i < from; i += 128) out.push(...r.push(Float32Array.from({ length: Math.min(128, from - i) }, (_, k) => Math.sin((2 * Math.PI * hz * (i + k)) / from))))
        if (Math.abs(out.length - to) > to / 500) throw new Error(`of ${from} samples come ${out.length}, want ${to}`)
        const middle = out.slice(to / 10, to - to / 10)
        const gain = Math.sqrt((2 * middle.reduce((sum, v) => sum + v * v, 0)) / middle.length)
        if (hz < to / 2 ? Math.abs(gain - 1) > 0.02 : gain > 0.003) throw new Error(`${hz} Hz from ${from} to ${to} has a gain of ${gain}`)
      }
    }
  },
  'there is help for everything': () => {
    for (const code of ['insecure', 'NotAllowedError', 'NotFoundError', 'NotReadableError', 'no_webrtc', 'missing_api_key', 'origin_not_allowed', 'loading', 'too_many_calls', 'too_many_offers',
      'overloaded_load', 'shutting_down', 'session_idle', 'closed', 'lost', 'unreachable', 'unreachable_media', 'whatever']) {
      const { title, text, steps = [], commands = [] } = help(code, { message: 'It is so.', retry: 5, host: 'box.example:8080' })
      if (!title || !text || /\.$/.test(title) || !/[.:]$/.test(text)) throw new Error(`${code}: ${title} / ${text}`)
      if (commands.length > steps.length) throw new Error(`${code}: a command without a step`)
      if (waits(code) && !text.includes('5 s')) throw new Error(`${code} does not say when it is tried again`)
    }
    if (!JSON.stringify(help('unreachable_media', { host: 'localhost:8080' })).includes('--webrtc-udp=0.0.0.0:8080')) throw new Error('the loopback address is not said to be it')
    if (!JSON.stringify(help('insecure', { host: 'box.example:8080' })).includes('--origins=https://box.example')) throw new Error('the name is missing')
  },
  'a bar holds a turn that is far over': () => {
    const late = { verdict: 'over', blame: 'llm', total: 3000, plan: 890, stages: { mic: 30, stt: 310, llm: 2600, tts: 60 }, shares: { mic: 40, stt: 300, llm: 400, tts: 150 } }
    if (scaleOf(late) * 890 < 3000) throw new Error('it does not fit')
    if (!spoken(late).includes('The model is to blame')) throw new Error(spoken(late))
  },
}

// listen has an ear hear stretches of [from, until, microphone, answer], in seconds and dBFS; what is expected when.
function listen(stretches, expected) {
  const ear = new Ear()
  const out = []
  const due = Object.entries(expected).map(([at, response]) => [Number(at), response])
  for (const [from, until, microphone, answer] of stretches) {
    for (let i = Math.round(from * 100); i < Math.round(until * 100); i++) {
      const at = (i + 1) / 100
      while (due.length && due[0][0] <= at) ear.expect(due.shift()[1])
      const heard = ear.take(at, microphone, answer)
      if (heard) out.push(heard)
    }
  }
  return out
}

export function run() {
  const wrong = []
  for (const [name, test] of Object.entries(tests)) {
    try {
      test()
    } catch (error) {
      wrong.push(`${name}: ${error.message}`)
    }
  }
  return [Object.keys(tests).length, wrong]
}
