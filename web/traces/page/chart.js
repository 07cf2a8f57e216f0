// Lines over time, against a budget.

import { s } from './dom.js'
import { at, ms, number, steps } from './format.js'

// chart returns a picture of series, which are {name, cls, points: [{t, v, n}]}, with t in milliseconds since 1970. every is the length of a
// span in seconds. A limit that is null is not drawn.
export function chart({ series, limit, every, from, to, width, height, title }) {
  const small = height < 160
  const left = 58
  const right = small && width < 360 ? 48 : 56
  const top = 14
  const bottom = 22
  const values = series.flatMap((l) => l.points.map((p) => p.v))
  const most = Math.max((limit ?? 0) * 1.12, ...values, 1) * 1.04
  const x = (t) => left + (to === from ? 0.5 : (t - from) / (to - from)) * (width - left - right)
  const y = (v) => height - bottom - (v / most) * (height - top - bottom)
  const grid = steps(0, most, small ? 3 : 5).map((v) => [s('line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
    s('text', { class: 'tick', x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, ms(v))])
  const lines = series.map((l) => [
    s('path', { class: `curve ${l.cls}`, d: pieces(l.points, every).map((piece) => `M${piece.map((p) => `${x(p.t).toFixed(1)} ${y(p.v).toFixed(1)}`).join('L')}`).join('') }),
    l.points.map((p) => s('circle', { class: `point ${l.cls}`, cx: x(p.t).toFixed(1), cy: y(p.v).toFixed(1), r: l.points.length > 30 ? 1.6 : 2.4 },
      s('title', {}, `${l.name ? `${l.name}, ` : ''}${new Date(p.t).toLocaleString('en-GB')}: ${ms(p.v)}, ${number(p.n)} turns`)))])
  return s('svg', { class: 'chart', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}. The table below has the numbers.` },
    grid, times(from, to, every, x, height - 6, width),
    limit === null ? null : [s('line', { class: 'budget', x1: left, x2: width - right, y1: y(limit), y2: y(limit) }),
      s('text', { class: 'limit', x: width - right + 6, y: y(limit) + 4 }, ms(limit))], lines)
}

// pieces cuts a line where there were no turns.
function pieces(points, every) {
  const out = []
  for (const p of points) {
    const piece = out.at(-1)
    if (piece && p.t - piece.at(-1).t <= every * 1000 * 1.5) piece.push(p)
    else out.push([p])
  }
  return out
}

// times labels the axis.
function times(from, to, every, x, y, width) {
  const wanted = Math.max(Math.floor(width / 110), 1)
  const round = [60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400, 91 * 86400, 364 * 86400]
  const step = 1000 * Math.max(round.find((r) => (to - from) / 1000 / r <= wanted) ?? round.at(-1), every)
  const zone = new Date(from).getTimezoneOffset() * 60000
  const out = []
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= to; t += step) {
    if (x(t) > 60 && x(t) < width - 40) out.push(s('text', { class: 'tick', x: x(t), y, 'text-anchor': 'middle' }, at(t, step / 1000)))
  }
  return out
}
