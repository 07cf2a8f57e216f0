// One call over WebRTC: how it is made, how it comes back when the network drops, and how it ends.

// Problem is why a call is not there. Its code is for programs; retry is after how many seconds it is worth another try, if that is known.
export class Problem extends Error {
  constructor(code, message, { retry = null, status = 0 } = {}) {
    super(message)
    Object.assign(this, { code, retry, status })
  }
}

const patience = 8000 // Milliseconds in which a call must connect.
const away = 20000 // The same, in which one that broke must come back: the service waits less.
const pause = 1500 // Between attempts at that.

// Call is one call. It tells what becomes of it by on: event(e) for each of the protocol's events, state(name) for connected, broken and back,
// sound(stream) for the answers' sound, and ended(problem) once, where the problem is null if its user hung up.
export class Call {
  #on
  #options
  #connection
  #channel
  #place = null // Where the service has the call.
  #open = false
  #over = false
  #broken = false
  #last = null // The last error that the service told of.
  #stop = new AbortController()

  // options are session and route, what the call begins with; key, or ''; and microphone, a stream, or null for who writes only.
  constructor(options, on) {
    this.#options = options
    this.#on = on
  }

  // start makes the call.
  async start() {
    try {
      await this.#start()
    } catch (error) {
      this.#end(error instanceof Problem ? error : new Problem('failed', error.message))
    }
  }

  async #start() {
    const { microphone, session, route } = this.#options
    const connection = new RTCPeerConnection()
    this.#connection = connection
    const stream = microphone ?? new MediaStream()
    const [track] = stream.getAudioTracks()
    if (track) connection.addTrack(track, stream)
    else connection.addTransceiver('audio', { direction: 'recvonly' })
    connection.ontrack = (e) => this.#on.sound(e.streams[0] ?? new MediaStream([e.track]))
    connection.onconnectionstatechange = () => this.#changed(connection.connectionState)
    this.#channel = connection.createDataChannel('oai-events')
    this.#channel.onopen = () => {
      this.#open = true
      this.#on.state('connected')
    }
    this.#channel.onmessage = ({ data }) => this.#told(data)
    this.#channel.onclose = () => this.#end(this.#last ?? new Problem('closed', 'The service has ended the call.'))
    await connection.setLocalDescription()
    const query = route ? `?route=${encodeURIComponent(route)}` : ''
    const body = JSON.stringify({ sdp: connection.localDescription.sdp, session })
    const reply = await this.#post(`/v1/realtime/calls${query}`, 'application/json', body, null) // whoever hangs up meanwhile has a place all the same
    this.#place = reply.headers.get('Location')
    if (this.#over) {
      this.#forget()
      return
    }
    const answer = await reply.json()
    if (this.#over) return
    await connection.setRemoteDescription({ type: 'answer', sdp: answer.sdp })
    setTimeout(() => {
      if (!this.#open) this.#end(unreachable())
    }, patience)
  }

  // send sends an event, if the call is there. It reports whether it is.
  send(event) {
    if (this.#channel?.readyState !== 'open') return false
    this.#channel.send(JSON.stringify(event))
    return true
  }

  // use sends another track from now on: another microphone.
  async use(track) {
    const sender = this.#connection?.getSenders().find((s) => s.track)
    await sender?.replaceTrack(track)
  }

  // hangUp ends the call.
  hangUp() {
    this.#end(null)
  }

  // way returns what is known of the way between here and the service; times in milliseconds.
  async way() {
    const out = {}
    for (const r of (await this.#connection.getStats()).values()) {
      if (r.type === 'inbound-rtp' && r.kind === 'audio') {
        if (r.jitter !== undefined) out.jitter_ms = tenths(r.jitter * 1000)
        if (r.jitterBufferEmittedCount) out.buffer_ms = tenths((1000 * r.jitterBufferDelay) / r.jitterBufferEmittedCount)
        if (r.packetsReceived) out.lost_percent = tenths((100 * Math.max(r.packetsLost, 0)) / (r.packetsReceived + Math.max(r.packetsLost, 0)))
      }
      if (r.type === 'candidate-pair' && r.nominated && r.currentRoundTripTime !== undefined) out.round_trip_ms = tenths(r.currentRoundTripTime * 1000)
    }
    return out
  }

  // wake tries at once to come back: the network is there again.
  wake() {
    if (this.#broken) this.#restart()
  }

  #told(data) {
    let event
    try {
      event = JSON.parse(data)
    } catch {
      return // it is none of the protocol's
    }
    if (event.type === 'error' && event.error.type === 'server_error') this.#last = new Problem(event.error.code, event.error.message)
    this.#on.event(event)
  }

  #changed(state) {
    if (this.#over) return
    if (state === 'failed' && !this.#open) {
      this.#end(unreachable())
      return
    }
    if (state === 'connected' && this.#broken) {
      this.#broken = false
      this.#on.state('back')
    }
    if ((state === 'disconnected' || state === 'failed') && this.#open && !this.#broken) {
      this.#broken = true
      this.#on.state('broken')
      this.#comeBack()
    }
  }

  // comeBack offers the service another way to this same call until one works, or the call is no more.
  async #comeBack() {
    const end = performance.now() + away
    while (this.#broken && !this.#over && performance.now() < end) {
      await this.#restart()
      await new Promise((done) => setTimeout(done, pause))
      if (this.#broken && this.#connection.connectionState === 'connected') this.#changed('connected') // it may have been told of before
    }
    if (this.#broken) this.#end(new Problem('lost', 'The network dropped, and the call with it.'))
  }

  async #restart() {
    const connection = this.#connection
    if (this.#over || !this.#place || connection.signalingState !== 'stable') return
    try {
      await connection.setLocalDescription(await connection.createOffer({ iceRestart: true }))
      const reply = await this.#post(this.#place, 'application/sdp', connection.localDescription.sdp)
      await connection.setRemoteDescription({ type: 'answer', sdp: await reply.text() })
    } catch (error) {
      if (error.code === 'call_not_found') this.#end(new Problem('lost', 'The network dropped, and the call with it.'))
      else if (connection.signalingState === 'have-local-offer') await connection.setLocalDescription({ type: 'rollback' })
    }
  }

  // post asks the service, until the call is over, or to the end without a signal. What is wrong becomes a Problem.
  async #post(path, type, body, signal = this.#stop.signal) {
    const headers = { 'Content-Type': type }
    if (this.#options.key) headers.Authorization = `Bearer ${this.#options.key}`
    let reply
    try {
      reply = await fetch(path, { method: 'POST', headers, body, signal })
    } catch {
      throw new Problem('unreachable', 'The service does not answer. Is it still running?')
    }
    if (reply.ok) return reply
    const { error } = await reply.json().catch(() => ({}))
    const retry = Number(reply.headers.get('Retry-After')) || null
    throw new Problem(error?.code ?? 'failed', error?.message ?? `The service answered with ${reply.status}.`, { retry, status: reply.status })
  }

  // forget lets the service have the place again of a call that did not come about: nothing else would tell it.
  #forget() {
    const headers = this.#options.key ? { Authorization: `Bearer ${this.#options.key}` } : {}
    fetch(`${this.#place}/hangup`, { method: 'POST', headers, keepalive: true }).catch(() => {})
  }

  #end(problem) {
    if (this.#over) return
    this.#over = true
    this.#stop.abort()
    if (this.#place && !this.#open) this.#forget()
    if (this.#channel) this.#channel.onclose = null
    this.#connection?.close()
    this.#on.ended(problem)
  }
}

const unreachable = () => new Problem('unreachable_media', 'The service took the call, but no sound comes through.')

const tenths = (n) => Math.round(n * 10) / 10
