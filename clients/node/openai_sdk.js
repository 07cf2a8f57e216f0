// Uses the service with OpenAI's own client for Node, as it is published: a call, and the REST endpoints beside it.
import { createReadStream } from 'node:fs'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { ask, check, key, questionFile, understood, url, within } from './service.js'

const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
const weather = {
  type: 'function', name: 'get_weather', description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Rome', 'Oslo'] } }, required: ['city'], additionalProperties: false },
}
const message = (text) => ({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } })

// open connects, and returns the call and what it has told so far by type.
async function open(options) {
  const call = new OpenAIRealtimeWS(options, client)
  const told = []
  const waiting = []
  const news = () => waiting.splice(0).forEach((w) => w())
  call.on('event', (e) => { told.push(e); news() })
  let broken
  call.on('error', (e) => { broken = e; news() })
  // next waits for an event of a type beyond those that there were.
  const next = (type, from) => within(type, (async () => {
    for (;;) {
      if (broken) throw broken
      const found = told.slice(from).find((e) => e.type === type)
      if (found) return found
      await new Promise((w) => waiting.push(w))
    }
  })())
  const mark = () => told.length
  await next('session.created', 0)
  return { call, told, next, mark }
}

async function voice() {
  const { call, told, next, mark } = await open({ model: 'riposte' })
  const stop = ask((piece) => call.send({ type: 'input_audio_buffer.append', audio: piece.toString('base64') }))
  let done
  do {
    const from = done ? told.indexOf(done) + 1 : 0
    done = await next('response.done', from)
  } while (done.response.status === 'cancelled')
  stop()
  const of = (type) => told.filter((e) => e.type === type)
  const heard = of('conversation.item.input_audio_transcription.completed').map((e) => e.transcript)
  check('voice: the question is understood', understood(heard.join(' ')), heard)
  const sound = of('response.output_audio.delta').reduce((n, e) => n + Buffer.from(e.delta, 'base64').length, 0)
  check('voice: the answer is to be heard', sound > 24000, sound)
  check('voice: its words are told', done.response.output[0].content[0].transcript.length > 0, done)

  let from = mark()
  call.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'], tools: [weather], tool_choice: 'none', audio: { input: { turn_detection: null } } } })
  await next('session.updated', from)
  from = mark()
  call.send(message('Where is Rome?'))
  call.send({ type: 'response.create' })
  const text = await next('response.output_text.done', from)
  await next('response.done', from)
  check('text: the words are whole', text.text && text.text === told.slice(from).filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), text)

  from = mark()
  call.send(message('What is the weather in Rome?'))
  call.send({ type: 'response.create', response: { tool_choice: { type: 'function', name: 'get_weather' } } })
  const made = await next('response.function_call_arguments.done', from)
  await next('response.done', from)
  check('tool: it is called', ['Rome', 'Oslo'].includes(JSON.parse(made.arguments).city), made)
  from = mark()
  call.send({ type: 'conversation.item.create', item: { type: 'function_call_output', call_id: made.call_id, output: '21 degrees, sunny' } })
  call.send({ type: 'response.create' })
  const answered = await next('response.done', from)
  check('tool: its result is answered', answered.response.output[0]?.content[0].text, answered)
  call.close()
}

async function rest() {
  const models = []
  for await (const m of client.models.list()) models.push(m.id)
  check('models: they are listed', models.length > 0, models)
  const ask = { model: 'riposte', messages: [{ role: 'user', content: 'Where is Rome?' }], max_tokens: 12, temperature: 0 }
  const chat = await client.chat.completions.create(ask)
  let words = ''
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) words += chunk.choices[0]?.delta.content ?? ''
  check('chat: streamed it is the same', words && words === chat.choices[0].message.content, [words, chat])
  const heard = await client.audio.transcriptions.create({ model: 'whisper-1', file: createReadStream(questionFile) })
  check('transcriptions: the recording is understood', understood(heard.text), heard)
  const spoken = Buffer.from(await (await client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'Good day.', response_format: 'wav' })).arrayBuffer())
  check('speech: it is a sound', spoken.subarray(0, 4).toString() === 'RIFF' && spoken.length > 10000, spoken.length)
}

await voice()
await rest()
process.exit(0)
