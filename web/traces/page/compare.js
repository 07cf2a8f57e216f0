// Two sets of turns side by side, such as before and after.

import { ask } from './api.js'
import { h, hidden, observeWidth, s, say } from './dom.js'
import { apart, budgetsOf, count, isWorse, limitOf, many, ms, share, signed, stageNames, stages, steps, verdicts } from './format.js'
import { head, loading, note, problem, select, sign } from './parts.js'
import { filterOf, go, href, read } from './state.js'

const keys = ['version', 'model', 'route', 'since', 'until']
const sides = ['a', 'b']
const letters = { a: 'A', b: 'B' }

export function compareView(place, names) {
  const controls = h('div', { class: 'sets' })
  const body = h('div', { class: 'panels' }, loading())
  place.replaceChildren(h('h1', { class: 'hidden' }, 'Compare'), controls, body)
  let asked = null
  let stop = new AbortController()

  async function update() {
    const q = read()
    controls.replaceChildren(...sides.map((side) => chooser(side, q, names())), h('div', { class: 'presets' }, presets(names())))
    const params = new URLSearchParams()
    for (const side of sides) {
      // A set's own choice takes the place of what the filter above says of the same.
      const set = filterOf(q)
      for (const key of keys) if (q.get(`${side}.${key}`)) set.set(key, q.get(`${side}.${key}`))
      for (const [key, value] of set) params.append(`${side}.${key}`, value)
    }
    if (params.toString() === asked) return
    asked = params.toString()
    stop.abort()
    stop = new AbortController()
    const wait = setTimeout(() => body.replaceChildren(loading()), 400)
    try {
      const c = await ask('compare', params, stop.signal)
      body.replaceChildren(...drawn(c))
      say(`A: ${many(c.a.turns, 'turn')}, B: ${many(c.b.turns, 'turn')}`)
    } catch (error) {
      if (error.name === 'AbortError') return
      body.replaceChildren(problem(error, () => { asked = null; update() }))
    } finally {
      clearTimeout(wait)
    }
  }
  update()
  return { update, leave: () => stop.abort() }
}

function chooser(side, q, names) {
  const list = (key, all) => select(key[0].toUpperCase() + key.slice(1), [['', 'Any'], ...all.map((v) => [v, v])], q.get(`${side}.${key}`) ?? '', (v) => go(href({ [`${side}.${key}`]: v })))
  const time = q.get(`${side}.since`) ?? ''
  const until = q.get(`${side}.until`) ?? ''
  const times = [[' ', 'Any'], ['24h ', 'Last 24 hours'], ['48h 24h', 'The 24 hours before'], ['7d ', 'Last 7 days'], ['14d 7d', 'The 7 days before']]
  const now = `${time} ${until}`
  if (!times.some(([v]) => v === now)) times.push([now, `${time || '…'} to ${until || 'now'}`])
  return h('fieldset', {}, h('legend', {}, h('span', { class: `badge ${side}`, 'aria-hidden': 'true' }, letters[side]), hidden(`Set ${letters[side]}`), side === 'a' ? 'Before' : 'After'),
    list('version', names.versions), list('model', names.models), list('route', names.routes),
    select('Time', times, now, (v) => {
      const [since, end] = v.split(' ')
      go(href({ [`${side}.since`]: since, [`${side}.until`]: end }))
    }))
}

function presets(names) {
  const set = (a, b) => href({ ...Object.fromEntries(sides.flatMap((side) => keys.map((k) => [`${side}.${k}`, null]))), ...a, ...b })
  const link = (text, a, b) => h('a', { href: set(a, b), 'data-go': true }, text)
  const [old, fresh] = names.versions.slice(-2)
  const q = read()
  const swapped = Object.fromEntries(sides.flatMap((side) => keys.map((k) => [`${side}.${k}`, q.get(`${side === 'a' ? 'b' : 'a'}.${k}`)])))
  return [
    fresh ? link(`${old} and ${fresh}`, { 'a.version': old }, { 'b.version': fresh }) : null,
    names.models.length > 1 ? link('Two models', { 'a.model': chat(names)[0] }, { 'b.model': chat(names)[1] }) : null,
    link('Yesterday and today', { 'a.since': '48h', 'a.until': '24h' }, { 'b.since': '24h' }),
    h('a', { href: href(swapped), 'data-go': true }, 'Swap A and B'),
  ]
}

// chat guesses which models are language models: recognisers and voices have their names.
function chat(names) {
  const some = names.models.filter((m) => !/whisper|piper|voice|tts|stt/i.test(m))
  return some.length > 1 ? some : names.models
}

function drawn(c) {
  if (c.a.judged === 0 || c.b.judged === 0) {
    const empty = c.a.judged === 0 && c.b.judged === 0 ? 'Both sets are' : c.a.judged === 0 ? 'Set A is' : 'Set B is'
    return [note(`${empty} empty`, 'No turn that is kept fits and has a verdict. Choose another version, model, route or time, or take away a filter.')]
  }
  const figure = h('div', { class: 'figure' })
  observeWidth(figure, (width) => figure.replaceChildren(dumbbells(c, width)))
  return [
    h('section', { class: 'panel wide' }, h('h2', {}, 'Median and 95th percentile'), figure),
    h('section', { class: 'panel wide' }, h('h2', {}, 'Verdicts'), sides.map((side) => verdictBar(c[side], letters[side], side))),
    numbers(c),
  ]
}

// dumbbells draws for the gap and each stage where A was and where B is.
function dumbbells(c, width) {
  const small = width < 560
  const left = small ? 84 : 110
  const right = small ? 14 : 70
  const total = limitOf(c.plans_ms)
  const lines = [['Gap', (g) => g.gap_ms, total], ...stages.map((k) => [stageNames[k], (g) => g.stages_ms[k], c.shares_ms?.[k] ?? null])]
  const all = lines.flatMap(([, pick, limit]) => [limit ?? 0, pick(c.a)?.p95 ?? 0, pick(c.b)?.p95 ?? 0])
  const most = Math.max(...all) * 1.05
  const x = (v) => left + (v / most) * (width - left - right)
  const rows = []
  let y = 30
  const high = 30 + lines.length * 50
  for (const [name, pick, limit] of lines) {
    rows.push(s('text', { class: 'label', x: 0, y: y + 22 }, name), limit === null ? null : s('line', { class: 'share', x1: x(limit), x2: x(limit), y1: y - 2, y2: y + 38 }, s('title', {}, `share ${ms(limit)}`)))
    for (const [p, dy] of [['p50', 8], ['p95', 28]]) {
      const [a, b] = [pick(c.a)?.[p], pick(c.b)?.[p]]
      if (a === undefined || b === undefined) continue
      rows.push(s('g', {}, s('title', {}, `${name} ${p}: A ${ms(a)}, B ${ms(b)}, ${signed(b - a)}`), s('text', { class: 'rank', x: left - 8, y: y + dy + 4, 'text-anchor': 'end' }, p),
        s('line', { class: isWorse(a, b) ? 'worse' : 'better', x1: x(a), x2: x(b), y1: y + dy, y2: y + dy }), s('circle', { class: 'dot-a', cx: x(a), cy: y + dy, r: 5 }), s('circle', { class: 'dot-b', cx: x(b), cy: y + dy, r: 5 }),
        small ? null : s('text', { class: isWorse(a, b) ? 'value bad' : 'value', x: x(Math.max(a, b)) + 11, y: y + dy + 4 }, signed(b - a))))
    }
    y += 50
  }
  const grid = steps(0, most, (width - left - right) / 90).map((v) => [s('line', { class: 'grid', x1: x(v), x2: x(v), y1: 18, y2: high }), s('text', { class: 'tick', x: x(v), y: 12, 'text-anchor': 'middle' }, ms(v))])
  return [
    s('svg', { class: 'dumbbells', width, height: high, viewBox: `0 0 ${width} ${high}`, role: 'img', 'aria-label': 'Median and 95th percentile of both sets. The table below has the numbers.' }, grid, rows),
    h('ul', { class: 'legend' }, h('li', {}, h('span', { class: 'swatch hollow', 'aria-hidden': 'true' }), 'A, before'), h('li', {}, h('span', { class: 'swatch full', 'aria-hidden': 'true' }), 'B, after'),
      h('li', {}, h('span', { class: 'swatch line', 'aria-hidden': 'true' }), total === null ? `No line: ${budgetsOf(c.plans_ms)}` : 'Budget, or share of it')),
  ].reduce((all, e) => (all.append(e), all), document.createDocumentFragment())
}

function verdictBar(g, letter, side) {
  const parts = Object.keys(verdicts).filter((v) => v !== 'none' && g.verdicts[v])
  let from = 0
  return h('div', { class: 'verdicts' }, h('span', { class: `badge ${side}` }, letter),
    s('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, parts.map((v) => {
      const w = (100 * g.verdicts[v]) / g.judged
      const rect = s('rect', { class: `r-${v}`, x: from, y: 0, width: Math.max(w - 0.2, 0.1), height: 10 })
      from += w
      return rect
    })),
    h('span', { class: 'key' }, parts.map((v) => h('span', { class: `v-${v}` }, sign(v), `${v} ${share(g.verdicts[v], g.judged)}`)), apart(g) ? h('span', { class: 'quiet' }, `besides: ${apart(g)}`) : null))
}

function numbers(c) {
  const row = (name, a, b, write, diff = null) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'num' }, write(a)), h('td', { class: 'num' }, write(b)),
    h('td', { class: diff !== null && isWorse(a, b) ? 'num bad' : 'num' }, diff === null ? '' : signed(diff)))
  const met = (g) => share(g.verdicts.met ?? 0, g.judged)
  const of = (name, pick) => ['p50', 'p90', 'p95', 'p99'].map((p) => {
    const [a, b] = [pick(c.a)?.[p] ?? null, pick(c.b)?.[p] ?? null]
    return row(`${name} ${p}`, a, b, ms, a === null || b === null ? null : b - a)
  })
  return h('section', { class: 'panel wide', 'aria-labelledby': 'h-numbers' }, h('h2', { id: 'h-numbers' }, 'In numbers'),
    h('table', { class: 'plain' }, h('caption', { class: 'hidden' }, 'Both sets in numbers'), head('', ['A', 'num'], ['B', 'num'], ['B − A', 'num']),
      h('tbody', {}, row('Turns judged', c.a.judged, c.b.judged, count), row('Met', met(c.a), met(c.b), (v) => v), of('Gap', (g) => g.gap_ms), stages.map((k) => of(stageNames[k], (g) => g.stages_ms[k])))))
}
