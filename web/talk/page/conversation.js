// What a call has come to: all that the page shows of it follows from the protocol's events. This knows neither page nor network.

// phases are the states of a call, with what they are called and what to do in them.
export const phases = {
  idle: ['Ready', 'Press the button and ask something.'],
  connecting: ['Connecting', 'If the browser asks, let it use the microphone.'],
  listening: ['Listening', 'Speak whenever you like.'],
  hearing: ['Hearing you', 'Your words appear as they are understood.'],
  thinking: ['Thinking', ''],
  speaking: ['Speaking', 'You can interrupt it.'],
  held: ['Held', 'It waits: are you interrupting?'],
  reconnecting: ['Reconnecting', 'The network dropped. The call goes on when it is back.'],
  ended: ['Ended', 'Press the button to talk again.'],
}

const mostTurns = 60 // That are remembered for the chart.

// Conversation takes events, one after the other. Its entries are what was said, in order: {id, role, text, stable, state}, with the state
// partial, final, sounding, done, interrupted or failed, and for interrupted ones heard, the part that was heard.
export class Conversation {
  entries = []
  turns = []
  problem = null // The last error that the service told of.
  fresh = null // A turn of which only that is known yet when its answer was heard here: it is told of when the answer has ended.
  spoken = null // The answer that is to be measured: what it answers was said, and not written.

  #hearing = false
  #thinking = false
  #sounding = false
  #held = false
  #asked = false // Something that was said waits for its answer.
  #stopped = null // The item that was said last, to its end.
  #silent = new Set() // Items that are silences.
  #ears = new Map()
  #shares = null // Of the budget, in milliseconds.

  // phase returns what the call does now.
  get phase() {
    if (this.#held) return 'held'
    if (this.#hearing) return 'hearing'
    if (this.#sounding) return 'speaking'
    return this.#thinking ? 'thinking' : 'listening'
  }

  // take takes the next event.
  take(e) {
    switch (e.type) {
      case 'session.created':
      case 'session.updated':
        this.#shares = sharesOf(e.session?.riposte?.budget)
        return
      case 'input_audio_buffer.speech_started':
        this.#hearing = true
        this.#held = false
        return
      case 'input_audio_buffer.speech_stopped':
        this.#hearing = false
        this.#thinking = true
        this.#stopped = e.item_id
        return
      case 'input_audio_buffer.timeout_triggered':
        this.#silent.add(e.item_id)
        return
      case 'input_audio_buffer.committed':
        this.#asked = !this.#silent.has(e.item_id)
        return
      case 'riposte.hypothesis':
        this.#hypothesis(e)
        return
      case 'riposte.hold':
        this.#held = true
        return
      case 'riposte.release':
        this.#held = false
        this.#dropPartial()
        return
      case 'conversation.item.input_audio_transcription.completed':
        this.#final(e.item_id, e.transcript)
        return
      case 'conversation.item.input_audio_transcription.failed':
        this.#final(e.item_id, '')
        return
      case 'conversation.item.deleted':
        this.#thinking = false
        this.#remove(e.item_id)
        return
      case 'conversation.item.added':
        this.#added(e.item)
        return
      case 'response.created':
        this.#hearing = false
        this.#thinking = true
        if (this.#asked) this.spoken = e.response.id
        this.#asked = false
        return
      case 'response.output_audio_transcript.delta':
      case 'response.output_text.delta':
        this.#words(e)
        return
      case 'output_audio_buffer.started':
        this.#sounding = true
        this.#thinking = false
        return
      case 'output_audio_buffer.stopped':
      case 'output_audio_buffer.cleared':
        this.#sounding = false
        this.#held = false
        return
      case 'response.done':
        this.#done(e.response)
        return
      case 'riposte.turn':
        this.#turn(e)
        return
      case 'error':
        this.problem = e.error
    }
  }

  // heard notes how long an answer took from mouth to ear, in milliseconds.
  heard(response, ms) {
    this.#ears.set(response, ms)
    const turn = this.turns.find((t) => t.response === response)
    if (turn) turn.ear = ms
    else if (this.#shares) this.fresh = { response, verdict: 'heard', blame: '', total: ms, stages: {}, shares: this.#shares, plan: sum(this.#shares), ear: ms }
    if (this.#ears.size > mostTurns) this.#ears.delete(this.#ears.keys().next().value)
  }

  // broken forgets what a call was in the middle of, when another one takes its place.
  broken() {
    this.#hearing = this.#thinking = this.#sounding = this.#held = this.#asked = false
    this.spoken = this.fresh = null
    this.#dropPartial()
    for (const e of this.entries) if (e.state === 'sounding') Object.assign(e, { state: 'interrupted', heard: e.text })
  }

  #find(id) {
    return this.entries.find((e) => e.id === id)
  }

  #remove(id) {
    this.entries = this.entries.filter((e) => e.id !== id)
  }

  #dropPartial(but) {
    this.entries = this.entries.filter((e) => e.state !== 'partial' || e.id === but)
  }

  #hypothesis(e) {
    this.#dropPartial(e.item_id)
    if (!this.#sounding && e.item_id !== this.#stopped) this.#hearing = true // the last words of what was said may come behind its end
    const entry = this.#find(e.item_id)
    if (!entry) this.entries.push({ id: e.item_id, role: 'user', text: e.text, stable: e.stable, state: 'partial' })
    else if (entry.state === 'partial') Object.assign(entry, { text: e.text, stable: e.stable })
  }

  #final(id, text) {
    if (!text.trim()) {
      this.#thinking = false
      this.#remove(id)
      return
    }
    const entry = this.#find(id)
    if (entry) Object.assign(entry, { text, stable: text, state: 'final' })
    else this.entries.push({ id, role: 'user', text, stable: text, state: 'final' })
  }

  #added(item) {
    if (item?.type !== 'message' || item.role !== 'user') return
    const text = (item.content ?? []).filter((c) => c.type === 'input_text').map((c) => c.text).join(' ')
    if (text && !this.#find(item.id)) this.entries.push({ id: item.id, role: 'user', text, stable: text, state: 'final' })
  }

  #words(e) {
    const entry = this.#find(e.response_id)
    if (!entry) {
      this.entries.push({ id: e.response_id, role: 'agent', item: e.item_id, text: e.delta, stable: '', state: 'sounding' })
      return
    }
    const anew = entry.item !== e.item_id && !/\s$/.test(entry.text) // after a tool, words go on in another item
    entry.text += (anew ? ' ' : '') + e.delta
    entry.item = e.item_id
  }

  #done(response) {
    this.#thinking = false
    const entry = this.#find(response.id)
    if (!entry) return
    if (response.status === 'cancelled') Object.assign(entry, { state: 'interrupted', heard: entry.heard ?? entry.text })
    else entry.state = response.status === 'failed' ? 'failed' : 'done'
  }

  #turn(e) {
    const entry = this.#find(e.response_id)
    if (entry?.state === 'interrupted') {
      entry.heard = heardOf(entry.text, e.answer)
      if (!entry.heard && e.continued) this.#remove(entry.id)
    }
    if (this.fresh?.response === e.response_id) this.fresh = null
    if (!e.verdict) return
    this.turns.push({
      response: e.response_id, said: e.transcript, verdict: e.verdict, blame: e.blame, total: e.total_ms, stages: e.stages_ms, shares: e.shares_ms,
      plan: sum(e.shares_ms), actions: e.actions, ear: this.#ears.get(e.response_id) ?? null,
    })
    if (this.turns.length > mostTurns) this.turns.shift()
  }
}

const sum = (shares) => Object.values(shares).reduce((a, b) => a + b, 0)

// sharesOf returns the shares of a budget as a session has it; null without one.
const sharesOf = (budget) => budget ? { mic: budget.mic_ms, stt: budget.stt_ms, llm: budget.llm_ms, tts: budget.tts_ms } : null

// heardOf returns how much of a text was heard, where the words of what was heard are known.
export function heardOf(text, heard) {
  const count = heard.trim().split(/\s+/).filter(Boolean).length
  const words = text.matchAll(/\S+/g)
  let end = 0
  for (let n = 0; n < count; n++) {
    const word = words.next().value
    if (!word) return text
    end = word.index + word[0].length
  }
  return text.slice(0, end)
}
