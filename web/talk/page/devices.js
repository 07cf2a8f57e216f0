// Microphones and loudspeakers: which there are, and whether they work.

import { h } from './dom.js'
import { constraints } from './settings.js'

// list fills a choice with the devices of a kind. Before the microphone was allowed they have no names.
export async function list(select, kind, chosen) {
  const all = (await navigator.mediaDevices?.enumerateDevices?.().catch(() => [])) ?? []
  const usual = h('option', { value: '' }, 'As the system says')
  const options = all.filter((d) => d.kind === kind && d.deviceId && d.deviceId !== 'default' && d.deviceId !== 'communications')
    .map((d, i) => h('option', { value: d.deviceId }, d.label || `${kind === 'audioinput' ? 'Microphone' : 'Loudspeaker'} ${i + 1}`))
  select.replaceChildren(usual, ...options)
  select.value = options.some((o) => o.value === chosen) ? chosen : ''
}

// microphone asks for the microphone.
export const microphone = (settings) => navigator.mediaDevices.getUserMedia(constraints(settings))

// canChoose reports whether the browser lets a page choose a loudspeaker.
export const canChoose = () => 'setSinkId' in HTMLMediaElement.prototype

// speak has a player play on the loudspeaker that was chosen, or on the usual one if that is gone.
export async function speakOn(player, id) {
  if (!canChoose()) return
  await player.setSinkId(id).catch(() => player.setSinkId(''))
}

export const recording = 3000 // Milliseconds.

// echoTest records what the microphone hears, and plays it. It tells how far it is.
export async function echoTest(settings, tell) {
  const stream = await microphone(settings)
  const chunks = []
  try {
    const recorder = new MediaRecorder(stream)
    const stopped = new Promise((done) => recorder.addEventListener('stop', done, { once: true }))
    recorder.ondataavailable = ({ data }) => chunks.push(data)
    recorder.start()
    tell('Recording: say something.')
    await new Promise((done) => setTimeout(done, recording))
    recorder.stop()
    await stopped
  } finally {
    stream.getTracks().forEach((t) => t.stop())
  }
  const context = new AudioContext()
  try {
    const sound = await context.decodeAudioData(await new Blob(chunks).arrayBuffer())
    const source = new AudioBufferSourceNode(context, { buffer: sound })
    const out = context.createMediaStreamDestination()
    source.connect(out)
    const player = new Audio()
    player.srcObject = out.stream
    await speakOn(player, settings.speaker)
    await player.play()
    tell('Playing: do you hear yourself?')
    const ended = new Promise((done) => source.addEventListener('ended', done, { once: true }))
    source.start()
    await ended
    player.pause()
    const peak = sound.getChannelData(0).reduce((most, v) => Math.max(most, Math.abs(v)), 0)
    tell(peak < 0.01 ? 'Nothing was heard: is this the right microphone, and is it switched on?' : 'That was it.')
  } finally {
    await context.close()
  }
}
