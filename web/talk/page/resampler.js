const phases = 256 // Of the filter, between two samples.

// Resampler changes the rate of a stream: a windowed sinc that lets through what both rates can hold.
export class Resampler {
  #step
  #half
  #table
  #kept
  #at

  constructor(from, to) {
    this.#step = from / to
    const cutoff = Math.min(1, to / from) * 0.94
    this.#half = Math.ceil(12 / cutoff)
    const width = 2 * this.#half
    this.#table = Array.from({ length: phases + 1 }, (_, phase) => Float32Array.from({ length: width }, (_, k) => {
      const x = k - this.#half + 1 - phase / phases
      const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / this.#half)
      return (x === 0 ? 1 : Math.sin(Math.PI * cutoff * x) / (Math.PI * cutoff * x)) * cutoff * (Math.abs(x) < this.#half ? window : 0)
    }))
    this.reset()
  }

  reset() {
    this.#kept = new Float32Array(2 * this.#half)
    this.#at = this.#half // Of the next sample that comes out, in what is kept.
  }

  // push takes samples and returns those that follow from them.
  push(samples) {
    const all = new Float32Array(this.#kept.length + samples.length)
    all.set(this.#kept)
    all.set(samples, this.#kept.length)
    const out = []
    for (; this.#at + this.#half < all.length; this.#at += this.#step) {
      const i = Math.floor(this.#at)
      const taps = this.#table[Math.round((this.#at - i) * phases)]
      let sum = 0
      for (let k = 0; k < taps.length; k++) sum += taps[k] * all[i - this.#half + 1 + k]
      out.push(sum)
    }
    const done = Math.max(0, Math.floor(this.#at) - this.#half)
    this.#kept = all.slice(done)
    this.#at -= done
    return out
  }
}
