// From mouth to ear: how long it is from the last voiced sample at the microphone to the first audible sample of the answer, both by the clock
// of one audio context. This knows levels only: it is told of ten milliseconds of both sides at a time.

export const audible = -50 // dBFS, from which on an answer counts as heard.
const silence = 10 // Windows of it before the first sound of an answer: else it is the end of the one before.
const memory = 300 // Windows by whose quietest tenth the noise of the room is known: three seconds.
const longest = 60 // Seconds that the service takes for an answer.

export class Ear {
  lastVoiced = null // In seconds of the audio clock.
  #floor = []
  #next = 0
  #loud = 0 // Voiced windows in a row: a click is no voice.
  #quiet = silence // Silent windows of the answer in a row.
  #expected = null

  // expect says that the sound of an answer comes next, which is to be measured.
  expect(response) {
    this.#expected = response
  }

  // forget forgets what was said: what comes next answers something else.
  forget() {
    this.lastVoiced = null
    this.#expected = null
  }

  // take takes the levels, in dBFS, of the windows that end at the moment. It returns {response, ms} when an answer begins to be heard.
  take(at, microphone, answer) {
    this.#hear(at, microphone)
    if (answer <= audible) {
      this.#quiet++
      return null
    }
    const first = this.#quiet >= silence
    this.#quiet = 0
    if (!first || this.#expected === null) return null
    const response = this.#expected
    const since = this.lastVoiced
    this.#expected = this.lastVoiced = null
    if (since === null || at - since > longest) return null
    return { response, ms: Math.round((at - step - since) * 10000) / 10 }
  }

  // threshold is the level from which on the microphone has a voice: well over the noise of the room.
  get threshold() {
    if (this.#floor.length < 20) return -45
    const sorted = this.#floor.toSorted((a, b) => a - b)
    return Math.min(Math.max(sorted[Math.floor(sorted.length / 10)] + 12, -50), -30)
  }

  #hear(at, level) {
    this.#floor[this.#next] = level
    this.#next = (this.#next + 1) % memory
    this.#loud = level > this.threshold ? this.#loud + 1 : 0
    if (this.#loud >= 3) this.lastVoiced = at
  }
}

const step = 0.01 // Seconds. The first audible one has begun by so much before it was over.
