// What was recorded of a turn: a player, and the shape of the sound.

import { h } from './dom.js'
import { ms } from './format.js'

// player returns the player of a turn. Its times count from the end of speech, like all of the turn's.
export function player(t) {
  const address = `/traces/api/sound?id=${encodeURIComponent(t.id)}`
  const begins = t.sound.begins_ms
  const audio = h('audio', { controls: true, preload: 'metadata', src: address, 'aria-label': 'Recording of the turn' })
  const time = h('output', { class: 'num quiet' }, ms(begins))
  let follower = () => {}
  let frame = 0
  let decoded = null
  let loud = 0 // The loudest sample: shapes are drawn in relation to it.
  const stop = new AbortController()

  const place = () => begins + audio.currentTime * 1000
  function tell() {
    follower(place())
    time.textContent = ms(Math.round(place()))
  }
  function run() {
    tell()
    if (!audio.paused && !audio.ended) frame = requestAnimationFrame(run)
  }
  audio.addEventListener('play', run)
  for (const event of ['seeked', 'pause', 'ended']) audio.addEventListener(event, tell)

  // The samples are fetched once, and only when their shape is drawn.
  function load() {
    decoded ??= fetch(address, { signal: stop.signal, cache: 'no-store' }).then(async (reply) => {
      if (!reply.ok) return null
      const bytes = await reply.arrayBuffer()
      const samples = new Int16Array(bytes, 44, Math.floor((bytes.byteLength - 44) / 2))
      for (const v of samples) loud = Math.max(loud, Math.abs(v))
      return samples
    }).catch(() => null)
    return decoded
  }

  return {
    element: h('div', { class: 'player' }, audio, h('button', { type: 'button', onclick: () => from(-300) }, 'Play the gap'), time),
    // follow calls f with the time that is played.
    follow(f) {
      follower = f
      tell()
    },
    seek(at) {
      audio.currentTime = Math.max(0, (at - begins) / 1000)
      tell()
    },
    // peaks returns how loud a side is, 0 to 1, in so many steps of a time.
    async peaks(side, low, high, n) {
      const samples = await load()
      const out = new Float32Array(n)
      if (!samples) return out
      const most = loud || 1
      const perMs = t.sound.rate / 1000
      for (let i = 0; i < n; i++) {
        const first = Math.floor((low + ((high - low) * i) / n - begins) * perMs)
        const end = Math.ceil((low + ((high - low) * (i + 1)) / n - begins) * perMs)
        let loudest = 0
        for (let k = Math.max(first, 0); k < end && 2 * k + side < samples.length; k++) loudest = Math.max(loudest, Math.abs(samples[2 * k + side]))
        out[i] = loudest / most
      }
      return out
    },
    stop() {
      stop.abort()
      cancelAnimationFrame(frame)
      audio.pause()
      audio.removeAttribute('src')
    },
  }

  function from(at) {
    audio.currentTime = Math.max(0, (at - begins) / 1000)
    audio.play().catch(() => {})
  }
}
