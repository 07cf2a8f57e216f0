// Where the service is that the tests' clients use, and what they ask it. The Go test that runs them (cmd/riposte, TestClients) says so in the
// environment.
import { readFileSync } from 'node:fs'

export const url = process.env.RIPOSTE_URL // Its /v1, over HTTPS: the SDK calls over wss alone.
export const key = process.env.RIPOSTE_KEY
export const questionFile = process.env.RIPOSTE_QUESTION // A WAV file, 24 kHz: "Should I get a dog or a cat?"

const frame = 960 // 20 ms, in bytes

// ask says the question in real time, and then nothing, until it is stopped.
export function ask(send) {
  const sound = readFileSync(questionFile).subarray(44)
  const begun = performance.now()
  let at = 0
  const timer = setInterval(() => {
    for (; at * 20 < performance.now() - begun; at++) {
      const piece = Buffer.alloc(frame)
      if (at * frame < sound.length) sound.copy(piece, 0, at * frame, (at + 1) * frame)
      send(piece)
    }
  }, 10)
  return () => clearInterval(timer)
}

export const understood = (text) => /dog/i.test(text) && /cat/i.test(text)

export function check(what, right, got) {
  if (!right) throw new Error(`${what}: ${JSON.stringify(got)}`)
  console.log('ok', what)
}

// within fails when something takes more than a minute.
export function within(what, promise) {
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${what} takes too long`)), 60_000) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
