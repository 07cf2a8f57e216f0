// Measures how loud two inputs are, the microphone and the answer: every ten milliseconds, on one clock.

/* global AudioWorkletProcessor, registerProcessor, sampleRate, currentTime */

const together = 2 // Windows that are told of at once.

registerProcessor('levels', class extends AudioWorkletProcessor {
  #length = Math.round(sampleRate / 100)
  #sums = [0, 0]
  #count = 0
  #told = []

  process(inputs) {
    const sides = inputs.map((input) => input[0])
    for (let i = 0; i < 128; i++) {
      for (let side = 0; side < 2; side++) {
        const v = sides[side]?.[i] ?? 0
        this.#sums[side] += v * v
      }
      if (++this.#count === this.#length) {
        const at = currentTime + (i + 1) / sampleRate
        this.#told.push(at, ...this.#sums.map((sum) => 10 * Math.log10(sum / this.#length + 1e-10)))
        this.#sums = [0, 0]
        this.#count = 0
      }
    }
    if (this.#told.length >= 3 * together) {
      this.port.postMessage(this.#told)
      this.#told = []
    }
    return true
  }
})
