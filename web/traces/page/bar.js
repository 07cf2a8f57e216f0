// A turn in one line: its stages, one after the other, against the budget.

import { s } from './dom.js'
import { ms, stageNames, stages } from './format.js'

const wide = 160
const high = 14
const beyond = 1.4 // Budgets that the bar holds.

// bar returns the stages of a turn as a picture that those who listen do not need: their numbers stand beside it.
export function bar(turn) {
  const scale = wide / (turn.plan_ms * beyond || 1)
  const parts = []
  let from = 0
  for (const stage of stages) {
    const took = turn.stages_ms[stage]
    if (took === undefined) break
    const x = Math.min(from * scale, wide)
    const w = Math.min(took * scale, wide - x)
    if (w > 0.3) parts.push(s('rect', { class: `s-${stage}`, x: x.toFixed(1), y: 3, width: Math.max(w - 0.6, 0.4).toFixed(1), height: high - 6, rx: 1 }))
    from += took
  }
  if (from * scale > wide) parts.push(s('path', { class: 'beyond', d: `M${wide - 6} 2l6 5l-6 5z` }))
  const line = (turn.plan_ms * scale).toFixed(1)
  return s('svg', { class: 'bar', viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    s('rect', { class: 'track', x: 0, y: 3, width: line, height: high - 6, rx: 1 }), parts, s('line', { class: 'budget', x1: line, x2: line, y1: 0, y2: high }))
}

// barText returns the same in words.
export const barText = (turn) => stages.filter((k) => turn.stages_ms[k] !== undefined).map((k) => `${stageNames[k]} ${ms(turn.stages_ms[k])}`).join(', ')
