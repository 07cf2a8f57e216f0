// One call over WebSocket, for where WebRTC does not come through: Firefox leaves out the loopback address, and some networks UDP. It is told
// of, and tells, the same as a Call.

import { Problem } from './call.js'

const most = 1 << 20 // Bytes that may wait for the network. Sound beyond them is left out: it would come too late.

export class SocketCall {
  #on
  #options
  #socket
  #context = new AudioContext({ latencyHint: 'interactive' })
  #source // Of the microphone,
  #capture // what makes samples of it,
  #playback // and what plays the answers.
  #response = null
  #open = false
  #over = false
  #last = null

  constructor(options, on) {
    this.#options = options
    this.#on = on
  }

  // start makes the call.
  async start() {
    try {
      await this.#context.audioWorklet.addModule('/talk/assets/pcm.worklet.js')
      await this.#context.resume()
    } catch (error) {
      this.#end(new Problem('failed', error.message))
      return
    }
    if (this.#over) return
    this.#playback = new AudioWorkletNode(this.#context, 'playback', { numberOfInputs: 0, outputChannelCount: [1] })
    this.#playback.port.onmessage = ({ data }) => this.#on.event({ type: `output_audio_buffer.${data}`, response_id: this.#response })
    const out = this.#context.createMediaStreamDestination()
    this.#playback.connect(out)
    this.#on.sound(out.stream)
    const { route, key } = this.#options
    const address = new URL(`/v1/realtime${route ? `?route=${encodeURIComponent(route)}` : ''}`, location.href)
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'
    this.#socket = new WebSocket(address, key ? ['realtime', `openai-insecure-api-key.${key}`] : ['realtime'])
    this.#socket.onmessage = ({ data }) => this.#told(JSON.parse(data))
    this.#socket.onclose = ({ code }) => this.#closed(code)
  }

  // send sends an event, if the call is there. It reports whether it is.
  send(event) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false
    this.#socket.send(JSON.stringify(event))
    return true
  }

  // use takes another track from now on: another microphone.
  async use(track) {
    this.#source?.disconnect()
    this.#source = this.#context.createMediaStreamSource(new MediaStream([track]))
    this.#source.connect(this.#capture)
  }

  hangUp() {
    this.#end(null)
  }

  // way knows nothing of the way: TCP does not tell.
  async way() {
    return {}
  }

  wake() {}

  #told(e) {
    switch (e.type) {
      case 'session.created':
        this.send({ type: 'session.update', session: this.#options.session })
        this.#open = true
        this.#listen()
        this.#on.state('connected')
        break
      case 'response.output_audio.delta':
        this.#play(e.delta)
        return
      case 'response.created':
        this.#response = e.response.id
        break
      case 'input_audio_buffer.speech_started':
        this.#playback.port.postMessage('clear')
        break
      case 'response.done':
        this.#playback.port.postMessage(e.response.status === 'cancelled' ? 'clear' : 'end')
        break
      case 'riposte.hold':
        this.#playback.port.postMessage('hold')
        break
      case 'riposte.release':
        this.#playback.port.postMessage('release')
        break
      case 'error':
        if (e.error.type === 'server_error') this.#last = new Problem(e.error.code, e.error.message)
    }
    this.#on.event(e)
  }

  // listen sends what the microphone hears.
  #listen() {
    this.#capture = new AudioWorkletNode(this.#context, 'capture', { numberOfOutputs: 1 })
    this.#capture.port.onmessage = ({ data }) => {
      if (this.#socket.bufferedAmount < most) this.send({ type: 'input_audio_buffer.append', audio: btoa(String.fromCharCode(...new Uint8Array(data.buffer))) })
    }
    const [track] = this.#options.microphone?.getAudioTracks() ?? []
    if (!track) return
    this.#capture.connect(this.#context.destination) // it is silent; what is connected to nothing may not run
    this.use(track)
  }

  #play(delta) {
    const bytes = Uint8Array.from(atob(delta), (c) => c.charCodeAt(0))
    this.#playback.port.postMessage(new Int16Array(bytes.buffer))
  }

  async #closed(code) {
    if (this.#last) this.#end(this.#last)
    else if (this.#open) this.#end(code === 1006 ? new Problem('lost', 'The network dropped, and the call with it.') : new Problem('closed', ''))
    else this.#end(await refusal())
  }

  #end(problem) {
    if (this.#over) return
    this.#over = true
    if (this.#socket) this.#socket.onmessage = this.#socket.onclose = null
    this.#socket?.close(1000)
    this.#source?.disconnect()
    this.#context.close()
    this.#on.ended(problem)
  }
}

// refusal finds out why no call was taken: a WebSocket does not tell.
async function refusal() {
  try {
    const reply = await fetch('/readyz')
    if (reply.ok) return new Problem('refused_socket', 'The service takes no call now: all places may be taken, or the key may be wrong.')
    const { status } = await reply.json()
    return new Problem(status === 'loading' ? 'loading' : 'shutting_down', `The service is ${status}.`, { retry: Number(reply.headers.get('Retry-After')) || 2 })
  } catch {
    return new Problem('unreachable', 'The service does not answer. Is it still running?')
  }
}
