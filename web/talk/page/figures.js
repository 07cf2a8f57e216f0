// A turn against its budget, and the gaps of those before it.

import { h, s } from './dom.js'

export const stages = ['mic', 'stt', 'llm', 'tts']
export const stageNames = { mic: 'Microphone', stt: 'Recogniser', llm: 'Model', tts: 'Voice' }
const verdicts = {
  heard: 'The answer begins to be heard here. What the service says of it follows when it has ended.',
  met: 'The answer was heard within the budget.',
  masked: 'The answer came late, and something else was heard in time.',
  over: 'The answer was heard later than the budget allows.',
  failed: 'There was no answer, only an apology.',
}
const signs = { heard: 'M1 4h2.5L7 1v10L3.5 8H1zM9 3.5q3 2.5 0 5z', met: 'M6 1.5a4.5 4.5 0 1 0 .01 0z', masked: 'M6 1.5a4.5 4.5 0 0 1 0 9z', over: 'M6 1L11.5 11H.5z', failed: 'M2 1l4 4 4-4 1 1-4 4 4 4-1 1-4-4-4 4-1-1 4-4-4-4z' }

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
export const ms = (n) => (n === null || n === undefined ? '–' : `${whole.format(n)} ms`)

const beyond = 1.25 // Budgets that a bar holds at least.

// scaleOf returns how many budgets wide the bar of a turn is.
export const scaleOf = (turn) => Math.max(beyond, (Math.max(turn.total, sum(turn)) * 1.04) / turn.plan)

const sum = (turn) => stages.reduce((all, stage) => all + (turn.stages[stage] ?? 0), 0)

// bar draws the stages of a turn, one after the other, against the line of the budget.
export function bar(turn, width) {
  const high = 54
  const x = (t) => (t / (turn.plan * scaleOf(turn))) * width
  const parts = []
  let from = 0
  for (const stage of stages) {
    const took = turn.stages[stage]
    if (took === undefined) break
    const w = Math.max(x(took) - 1, 0.5)
    parts.push(s('rect', { class: `s-${stage}`, x: x(from), y: 18, width: w, height: 22, rx: 2 }, s('title', {}, `${stageNames[stage]}: ${ms(took)} of ${ms(turn.shares[stage])}`)))
    from += took
  }
  const line = x(turn.plan)
  return s('svg', { class: 'bar', width, height: high, viewBox: `0 0 ${width} ${high}`, role: 'img', 'aria-label': spoken(turn) },
    s('rect', { class: 'track', x: 0, y: 16, width: line, height: 26, rx: 3 }), parts,
    turn.ear === null ? null : s('path', { class: 'ear', d: `M${Math.min(x(turn.ear), width - 5)} 43l5 8h-10z` }),
    s('line', { class: 'budget', x1: line, x2: line, y1: 10, y2: 48 }), s('text', { class: 'limit', x: line, y: 8, 'text-anchor': 'middle' }, ms(turn.plan)))
}

// spoken returns a turn in a sentence.
export function spoken(turn) {
  if (turn.verdict === 'heard') return `Heard after ${ms(turn.ear)} of ${ms(turn.plan)}.`
  const parts = stages.filter((k) => turn.stages[k] !== undefined).map((k) => `${stageNames[k]} ${ms(turn.stages[k])} of ${ms(turn.shares[k])}`)
  return `${turn.verdict}, ${ms(turn.total)} of ${ms(turn.plan)}. ${parts.join(', ')}.${turn.blame ? ` The ${stageNames[turn.blame].toLowerCase()} is to blame.` : ''}`
}

// shown returns a turn: its verdict, its bar and its numbers, as far as they are known.
export function shown(turn, width, traces) {
  return [
    h('p', { class: `verdict v-${turn.verdict}`, title: verdicts[turn.verdict] }, s('svg', { class: 'sign', viewBox: '0 0 12 12', 'aria-hidden': 'true', focusable: 'false' }, s('path', { d: signs[turn.verdict] ?? '' })),
      h('b', {}, turn.verdict), h('span', { class: 'gap' }, ms(turn.total)), turn.blame ? h('span', { class: 'blame' }, h('i', { class: `swatch f-${turn.blame}`, 'aria-hidden': 'true' }), `${stageNames[turn.blame]} to blame`) : null),
    bar(turn, width),
    h('dl', { class: 'stages' }, stages.map((stage) => h('div', {}, h('dt', {}, h('i', { class: `swatch f-${stage}`, 'aria-hidden': 'true' }), stageNames[stage]),
      h('dd', { class: turn.stages[stage] > turn.shares[stage] ? 'over' : null }, turn.stages[stage] === undefined ? '–' : whole.format(turn.stages[stage]), h('small', {}, ` of ${ms(turn.shares[stage])}`))))),
    h('dl', { class: 'totals' }, h('div', {}, h('dt', {}, 'Gap at the service'), h('dd', { id: 'gap' }, turn.verdict === 'heard' ? '–' : ms(turn.total))),
      h('div', { title: 'From your last sound to the first of the answer, as this browser hears them.' }, h('dt', {}, h('i', { class: 'swatch ear', 'aria-hidden': 'true' }), 'From mouth to ear'), h('dd', { id: 'ear' }, ms(turn.ear)))),
    traces && turn.verdict !== 'heard' ? h('p', {}, h('a', { href: `/traces?turn=${encodeURIComponent(turn.response)}`, target: '_blank', rel: 'noopener' }, 'Its trace')) : null,
  ]
}

// gaps draws the turns so far, the newest on the right: a bar for what the service measured, and a dot for what was heard here.
export function gaps(turns, width) {
  const high = 110
  const plan = turns.at(-1).plan
  const most = Math.max(plan * beyond, ...turns.map((t) => Math.min(Math.max(t.total, t.ear ?? 0), plan * 3)))
  const step = Math.min(Math.max(width / turns.length, 8), 26)
  const latest = turns.slice(-Math.floor(width / step))
  const y = (t) => high - (Math.min(t, most) / most) * (high - 14)
  const bars = latest.map((t, i) => s('g', {}, s('title', {}, `${t.said}: ${spoken(t)}${t.ear === null ? '' : ` From mouth to ear ${ms(t.ear)}.`}`),
    s('rect', { class: `g-${t.verdict}`, x: i * step + 1, y: y(t.total), width: step - 3, height: high - y(t.total), rx: 2 }),
    t.ear === null ? null : s('circle', { class: 'ear', cx: i * step + step / 2 - 0.5, cy: y(t.ear), r: 3 })))
  return [
    s('svg', { class: 'gaps', width, height: high, viewBox: `0 0 ${width} ${high}`, role: 'img', 'aria-label': `The gaps of ${latest.length} turns: ${latest.map((t) => ms(t.total)).join(', ')}.` }, bars,
      s('line', { class: 'budget', x1: 0, x2: width, y1: y(plan), y2: y(plan) }), s('text', { class: 'limit', x: width, y: y(plan) - 4, 'text-anchor': 'end' }, ms(plan))),
    h('p', { class: 'quiet key' }, h('i', { class: 'swatch bar-key', 'aria-hidden': 'true' }), 'at the service', h('i', { class: 'swatch ear', 'aria-hidden': 'true' }), 'from mouth to ear'),
  ]
}
