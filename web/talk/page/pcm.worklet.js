// Sound for a call over WebSocket: what the microphone hears as 16-bit samples at the protocol's rate, and the answers' samples as sound.

/* global AudioWorkletProcessor, registerProcessor, sampleRate */

import { Resampler } from './resampler.js'

const wire = 24000 // Hz, of the protocol.
const piece = wire / 50 // Samples that are sent at a time: 20 ms.
const ahead = 0.06 // Seconds of an answer that are there before it begins: the network's jitter.

registerProcessor('capture', class extends AudioWorkletProcessor {
  #resampler = new Resampler(sampleRate, wire)
  #waiting = []

  process([input]) {
    this.#waiting.push(...this.#resampler.push(input[0] ?? new Float32Array(128)))
    while (this.#waiting.length >= piece) {
      const pcm = Int16Array.from(this.#waiting.splice(0, piece), (v) => Math.max(-1, Math.min(1, v)) * 32767)
      this.port.postMessage(pcm, [pcm.buffer])
    }
    return true
  }
})

registerProcessor('playback', class extends AudioWorkletProcessor {
  #resampler = new Resampler(wire, sampleRate)
  #pieces = []
  #read = 0 // Of the first piece.
  #length = 0 // Of all that wait.
  #playing = false
  #ended = true // Nothing more comes of the answer.
  #held = false

  constructor() {
    super()
    this.port.onmessage = ({ data }) => this.#take(data)
  }

  #take(data) {
    if (data instanceof Int16Array) {
      this.#ended = false
      this.#add(this.#resampler.push(Float32Array.from(data, (v) => v / 32768)))
      return
    }
    switch (data) {
      case 'end':
        this.#add(this.#resampler.push(new Float32Array(wire / 200))) // what the filter still holds
        this.#ended = true
        return
      case 'clear':
        if (this.#playing) this.port.postMessage('cleared')
        this.#pieces = []
        this.#read = this.#length = 0
        this.#playing = this.#held = false
        this.#ended = true
        this.#resampler.reset()
        return
      case 'hold':
      case 'release':
        this.#held = data === 'hold'
    }
  }

  #add(samples) {
    if (samples.length === 0) return
    this.#pieces.push(samples)
    this.#length += samples.length
  }

  process(_, [[out]]) {
    if (this.#held || this.#length === 0 && !this.#playing) return true
    if (!this.#playing) {
      if (!this.#ended && this.#length < ahead * sampleRate) return true
      this.#playing = true
      this.port.postMessage('started')
    }
    for (let i = 0; i < out.length && this.#length > 0; i++) {
      out[i] = this.#pieces[0][this.#read++]
      this.#length--
      if (this.#read === this.#pieces[0].length) {
        this.#pieces.shift()
        this.#read = 0
      }
    }
    if (this.#length === 0 && this.#ended) {
      this.#playing = false
      this.port.postMessage('stopped')
    }
    return true
  }
})
