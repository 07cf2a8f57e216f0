// An application as the SDK's documentation has it, of which nothing knows that the service is another one, but for its address.
import { OpenAIRealtimeWebRTC, RealtimeAgent, RealtimeSession, tool } from '@openai/agents-realtime'
import { z } from 'zod'

const asked = [] // with what the tool was called
const errors = [] // what the SDK told of that went wrong
const events = {} // how often each event came
const ended = [] // what the agent said, answer by answer
const responses = [] // what each answer ended as
const started = [] // what tools it called

const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string().max(20), unit: z.enum(['C', 'F']) }),
  execute: async (call) => {
    asked.push(call)
    return '21 degrees and sunny'
  },
})
const agent = new RealtimeAgent({ name: 'Guide', instructions: 'You are a helpful assistant.', tools: [weather] })

// connect calls, and resolves when the service has the session as the SDK wants it. What is heard is kept as well, as the audio element gets it.
async function connect(baseUrl) {
  const audioElement = document.getElementById('voice')
  // Who wears headphones needs no cancelling of echoes, which takes some of what is said over an answer for one.
  const mediaStream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: false } })
  const session = new RealtimeSession(agent, {
    transport: new OpenAIRealtimeWebRTC({ baseUrl, audioElement, mediaStream }),
    config: { parallelToolCalls: false, audio: { input: { turnDetection: { type: 'semantic_vad', createResponse: true, interruptResponse: true }, noiseReduction: { type: 'near_field' } } } },
  })
  session.on('error', (e) => errors.push(JSON.stringify(e, (_, v) => (v instanceof Error ? String(v.stack ?? v) : v))))
  session.on('transport_event', (e) => { events[e.type] = (events[e.type] ?? 0) + 1 })
  session.on('transport_event', (e) => { if (e.type === 'response.done') responses.push(e.response) })
  session.on('agent_end', (_, __, text) => ended.push(text))
  session.on('agent_tool_start', (_, __, t) => started.push(t.name))
  const { value } = await (await fetch('/secret', { method: 'POST' })).json()
  await session.connect({ apiKey: value })
  window.session = session
  listen(audioElement.srcObject)
}

// loud counts the milliseconds in which something was to be heard.
const sound = { loud: 0 }

function listen(stream) {
  const context = new AudioContext()
  const meter = context.createAnalyser()
  meter.fftSize = 2048
  context.createMediaStreamSource(stream).connect(meter)
  const samples = new Float32Array(meter.fftSize)
  setInterval(() => {
    meter.getFloatTimeDomainData(samples)
    if (Math.max(...samples.map(Math.abs)) > 0.01) sound.loud += 20
  }, 20)
}

Object.assign(window, { connect, asked, errors, events, ended, responses, started, sound })
window.said = (role) => window.session.history.filter((i) => i.type === 'message' && i.role === role)
window.words = (item) => item.content.map((c) => c.transcript ?? c.text ?? '').join(' ')
