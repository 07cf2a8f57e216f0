// Holds a call with OpenAI's agents SDK, as it is published, over WebSocket: a question aloud, and one for which a tool is called.
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession, tool } from '@openai/agents-realtime'
import { z } from 'zod'
import { ask, check, key, understood, url, within } from './service.js'

const asked = []
const weather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.enum(['Rome', 'Oslo']) }),
  execute: async (call) => { asked.push(call); return '21 degrees, sunny' },
})
const agent = new RealtimeAgent({ name: 'Guide', instructions: 'You are a helpful assistant. Answer in one short sentence.', tools: [weather] })
const session = new RealtimeSession(agent, {
  transport: new OpenAIRealtimeWebSocket({ url: url.replace('http', 'ws') + '/realtime?model=riposte' }),
  config: { audio: { input: { turnDetection: { type: 'semantic_vad', createResponse: true, interruptResponse: true } } } },
})
const errors = []
let sound = 0
const ended = []
session.on('error', (e) => errors.push(e))
session.on('audio', (e) => { sound += e.data.byteLength })
session.on('agent_end', (_, __, text) => ended.push(text))
const until = (what, true_) => within(what, (async () => { while (!true_()) await new Promise((r) => setTimeout(r, 20)) })())
const said = (role) => session.history.filter((i) => i.type === 'message' && i.role === role).map((i) => i.content.map((c) => c.transcript ?? c.text ?? '').join(' '))

await within('connecting', session.connect({ apiKey: key }))
const stop = ask((piece) => session.sendAudio(piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.length)))
await until('the question', () => understood(said('user').join(' ')))
check('agents: the question is understood', true)
await until('the answer', () => sound > 24000 && ended.some((t) => t))
check('agents: the answer is heard', true)
stop()
session.transport.updateSessionConfig({ toolChoice: 'required' })
session.sendMessage('What is the weather in Rome?')
await until('the tool', () => asked.length > 0)
session.transport.updateSessionConfig({ toolChoice: 'none' })
check('agents: the tool is called', ['Rome', 'Oslo'].includes(asked[0].city), asked)
const before = ended.length
await until('what follows', () => ended.slice(before - 1).some((t) => t))
check('agents: its result is answered', said('assistant').at(-1), session.history)
check('agents: nothing was refused', errors.length === 0, errors)
session.close()
process.exit(0)
