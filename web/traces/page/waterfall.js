// The waterfall of one turn: its stages against the plan, its marks and events, the words as they came, and the sound.

import { s } from './dom.js'
import { ms, number, signed, stageNames, stages, steps, words } from './format.js'

const rowHigh = 30
const laneHigh = 17
const letter = 6.1 // Average width of a letter at 11 px.

// waterfall returns the picture. sound is the player of what was recorded, or null.
export function waterfall(t, { width, whole, sound }) {
  const small = width < 560
  const left = small ? 62 : 92
  const right = small ? 10 : 24
  const [from, to] = span(t, whole)
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - right)
  const within = (at) => at >= from && at <= to
  const clip = (at) => x(Math.min(Math.max(at, from), to))
  const body = []
  let y = 34
  const label = (text, at = y + rowHigh / 2 + 4, cls = 'label') => body.push(s('text', { class: cls, x: 0, y: at }, text))

  // The plan: what each stage may take.
  label('Plan')
  let begin = 0
  for (const stage of stages) {
    const end = begin + t.shares_ms[stage]
    if (end > begin && begin <= to) {
      const w = clip(end) - clip(begin)
      body.push(s('rect', { class: `plan p-${stage}`, x: clip(begin), y: y + 7, width: Math.max(w - 1, 0), height: rowHigh - 14, rx: 2 }, s('title', {}, `${stageNames[stage]} may take ${ms(t.shares_ms[stage])}`)))
      const text = w > 74 ? `${stage} ${number(t.shares_ms[stage])}` : w > 28 ? stage : ''
      if (text) body.push(s('text', { class: 'in', x: clip(begin) + w / 2, y: y + 19, 'text-anchor': 'middle' }, text))
    }
    begin = end
  }
  y += rowHigh

  // The stages: what each took. What is over its share is hatched.
  begin = 0
  for (const stage of stages) {
    const took = t.stages_ms[stage]
    label(small ? stage.toUpperCase() : stageNames[stage], undefined, t.blame === stage ? 'label blamed' : 'label')
    body.push(s('line', { class: 'rule', x1: left, x2: width - right, y1: y + rowHigh, y2: y + rowHigh }))
    if (took === undefined) {
      body.push(s('text', { class: 'faint', x: clip(begin) + 4, y: y + 19 }, 'did not end'))
      y += rowHigh
      continue
    }
    const end = begin + took
    const over = took - t.shares_ms[stage]
    body.push(s('g', {}, s('title', {}, `${stageNames[stage]}: ${ms(took)} of ${ms(t.shares_ms[stage])}`),
      s('rect', { class: `s-${stage}`, x: clip(begin), y: y + 5, width: Math.max(clip(end) - clip(begin), 1.5), height: rowHigh - 10, rx: 2 }),
      over > 0 ? s('rect', { class: 'over', fill: 'url(#hatch)', x: clip(end - over), y: y + 5, width: Math.max(clip(end) - clip(end - over), 1), height: rowHigh - 10, rx: 2 }) : null))
    const text = `${ms(took)}${over > 0 ? ` (${signed(over)})` : ''}`
    const fits = clip(end) + 6 + text.length * letter < width - right
    body.push(s('text', { class: over > 0 ? 'value bad' : 'value', x: fits ? clip(end) + 6 : clip(begin) - 6, y: y + 19, 'text-anchor': fits ? 'start' : 'end' }, text, fits ? waited(t.work[stage], width - right - clip(end) - 12 - text.length * letter) : null))
    begin = end
    y += rowHigh
  }

  // What happened, in as many lanes as the texts need.
  const lane = (name, moments, most) => {
    if (moments.length === 0) return
    label(name, y + 16)
    y += lanes(body, moments, { x, within, left, right: width - right, y: y + 4, most }) + 8
    body.push(s('line', { class: 'rule', x1: left, x2: width - right, y1: y - 2, y2: y - 2 }))
  }
  y += 4
  lane('Marks', Object.entries(t.marks_ms).filter(([k]) => k !== 'speech_end').map(([k, at]) => ({ at, text: words(k), shape: 'mark' })))
  lane('Events', [...t.events.filter((e) => e.kind !== 'action').map((e) => ({ at: e.at_ms, text: words(e.kind), about: e.detail, shape: 'event' })),
    ...t.actions.map((a) => ({ at: a.at_ms, text: words(a.kind), about: `for the ${stageNames[a.stage]}`, shape: 'action' }))], 8)
  const heard = t.words.filter((w) => within(w.at_ms))
  if (heard.length) {
    lane('Heard', heard.map((w) => ({ at: w.at_ms, text: last(w.text), about: w.text.length > 240 ? last(w.text) : w.text, shape: 'heard' })), 5)
  }

  if (sound) {
    for (const [name, side] of [['Caller', 0], ['Answer', 1]]) {
      label(name, y + 24)
      const top = y
      const wave = s('path', { class: `wave w${side}` })
      sound.peaks(side, from, to, Math.max(Math.floor((width - left - right) / 2), 10)).then((d) => wave.setAttribute('d', path(d, left, top + 20, width - left - right)))
      body.push(wave)
      y += 40
    }
  }

  const high = y + 6
  const seconds = to - from > 20000
  const tick = (at) => (at === 0 ? (small ? '0' : 'end of speech') : seconds ? `${number(at / 1000)} s` : `${number(at)} ms`).replace('-', '−')
  const grid = steps(from, to, (width - left - right) / (small ? 80 : 90)).map((at) => [
    s('line', { class: at === 0 ? 'zero' : 'grid', x1: x(at), x2: x(at), y1: 22, y2: high }),
    at === 0 || Math.abs(x(at) - x(t.plan_ms)) > 4 ? s('text', { class: 'tick', x: Math.min(x(at), width - 26), y: 12, 'text-anchor': 'middle' }, tick(at)) : null])
  const line = s('g', { class: 'line' }, s('line', { x1: x(t.plan_ms), x2: x(t.plan_ms), y1: 20, y2: high }), s('text', { x: x(t.plan_ms) + 5, y: 31, 'text-anchor': 'start' }, `budget ${ms(t.plan_ms)}`))
  if (x(t.plan_ms) + 100 > width) line.lastChild.setAttribute('text-anchor', 'end'), line.lastChild.setAttribute('x', x(t.plan_ms) - 5)
  const head = s('line', { class: 'playhead', x1: -10, x2: -10, y1: 20, y2: high })
  const picture = s('svg', { class: 'waterfall', width, height: high, viewBox: `0 0 ${width} ${high}`, role: 'img', 'aria-label': described(t) },
    s('defs', {}, s('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, s('rect', { class: 'hatch', width: 2.5, height: 6 }))),
    grid, t.plan_ms >= from && t.plan_ms <= to ? line : null, body, sound ? head : null)
  if (sound) {
    sound.follow((at) => {
      const place = within(at) ? x(at) : -10
      head.setAttribute('x1', place)
      head.setAttribute('x2', place)
    })
    picture.classList.add('seek')
    picture.addEventListener('click', (event) => {
      const px = event.clientX - picture.getBoundingClientRect().left
      if (px >= left) sound.seek(from + ((px - left) / (width - left - right)) * (to - from))
    })
  }
  return picture
}

// waited says how long a stage's work waited for the executor, where there is room for it.
function waited(work, room) {
  const text = work && work.waited_ms >= 1 ? `  waited ${ms(work.waited_ms)}` : ''
  return text && text.length * letter < room ? s('tspan', { class: 'faint' }, text) : null
}

// span returns which part of the turn is shown: by default from shortly before the end of speech to shortly after the first sound.
function span(t, whole) {
  const marks = Object.entries(t.marks_ms)
  if (whole) {
    const all = [...marks.map((m) => m[1]), ...t.events.map((e) => e.at_ms), ...t.words.map((w) => w.at_ms), t.plan_ms]
    if (t.sound) all.push(t.sound.begins_ms, t.sound.begins_ms + t.sound.length_ms)
    const low = Math.min(0, ...all)
    const high = Math.max(...all)
    return [low - (high - low) * 0.02, high + (high - low) * 0.08]
  }
  const high = Math.max(t.plan_ms, t.gap_ms ?? 0, ...marks.filter(([k]) => k !== 'done').map((m) => m[1]), ...t.actions.map((a) => a.at_ms)) * 1.16
  return [-high * 0.09, high]
}

// lanes draws moments with their texts, each in the first lane where it has room, and returns how high they are together. What is beyond
// the picture is said at its edge. Where there are as many lanes as may be, those without room have no text.
function lanes(body, moments, { x, within, left, right, y, most = Infinity }) {
  const ends = []
  const inside = moments.filter((m) => within(m.at)).sort((a, b) => a.at - b.at)
  const after = moments.filter((m) => !within(m.at) && m.at > 0).sort((a, b) => a.at - b.at)
  for (const m of inside) {
    const at = x(m.at)
    const w = m.text.length * letter + 8
    const flip = at + 8 + w > right && at - 8 - w > left
    const low = flip ? at - 8 - w : at - 5
    const high = flip ? at + 6 : at + 8 + w
    let n = ends.findIndex((end) => end < low)
    const mute = n < 0 && ends.length >= most
    if (n < 0) n = mute ? most - 1 : ends.push(0) - 1
    ends[n] = mute ? Math.max(ends[n], at + 6) : high
    const cy = y + n * laneHigh + 8
    body.push(s('g', { class: m.shape }, s('title', {}, `${m.text} at ${ms(m.at)}${m.about ? `: ${m.about}` : ''}`), shape(m.shape, at, cy),
      mute ? null : s('text', { x: flip ? at - 8 : at + 8, y: cy + 4, 'text-anchor': flip ? 'end' : 'start' }, m.text)))
  }
  for (const m of after) {
    const text = `${m.text} at ${ms(m.at)} →`
    const low = right - text.length * letter - 6
    let n = ends.findIndex((end) => end < low)
    if (n < 0 && ends.length >= most) continue
    if (n < 0) n = ends.push(0) - 1
    ends[n] = right + 1
    body.push(s('g', { class: m.shape }, s('title', {}, m.about ?? m.text), s('text', { class: 'faint', x: right, y: y + n * laneHigh + 12, 'text-anchor': 'end' }, text)))
  }
  return Math.max(ends.length, 1) * laneHigh
}

function shape(kind, x, y) {
  switch (kind) {
    case 'event':
      return s('circle', { cx: x, cy: y, r: 4 })
    case 'action':
      return s('rect', { x: x - 4, y: y - 4, width: 8, height: 8 })
    case 'heard':
      return s('line', { x1: x, x2: x, y1: y - 6, y2: y + 6 })
  }
  return s('path', { d: `M${x} ${y - 5}l5 5l-5 5l-5 -5z` })
}

// last returns the end of a text: that is what came last.
const last = (text) => (text.length > 26 ? `… ${text.slice(-24).replace(/^\S*\s/, '')}` : text)

// path draws loudest samples as a shape about a middle.
function path(peaks, left, middle, width) {
  const step = width / peaks.length
  const at = (i, sign) => `${(left + i * step).toFixed(1)} ${(middle + sign * Math.max(peaks[i] * 17, 0.4)).toFixed(1)}`
  const up = [...peaks.keys()].map((i) => at(i, -1))
  const down = [...peaks.keys()].reverse().map((i) => at(i, 1))
  return `M${up.concat(down).join('L')}Z`
}

// described returns the picture in words.
function described(t) {
  const parts = stages.filter((k) => t.stages_ms[k] !== undefined).map((k) => `${stageNames[k]} ${ms(t.stages_ms[k])} of ${ms(t.shares_ms[k])}`)
  return `Waterfall. ${parts.join(', ')}. ${t.gap_ms === null ? 'Not answered aloud' : `In all ${ms(t.gap_ms)}`} of ${ms(t.plan_ms)}. The tables below have the numbers.`
}
