// Percentiles of the gap and of each stage, over time and by model, route or version.

import { ask } from './api.js'
import { chart } from './chart.js'
import { h, observeWidth, say } from './dom.js'
import { apart, budgetsOf, count, exactly, limitOf, many, ms, share, stageNames, stages } from './format.js'
import { head, loading, note, problem, select } from './parts.js'
import { filterOf, go, href, read } from './state.js'

const splits = [['', 'All together'], ['model', 'By language model'], ['stt', 'By recogniser'], ['tts', 'By voice'], ['route', 'By route'], ['version', 'By version']]
const spans = [['', 'To fit'], ['1m', 'Every minute'], ['1h', 'Every hour'], ['6h', 'Every 6 hours'], ['24h', 'Every day']]
const ranks = [['p50', 'Median'], ['p90', '90th percentile'], ['p95', '95th percentile'], ['p99', '99th percentile']]
const most = 6 // Lines that can be told apart.

export function statsView(place) {
  const controls = h('div', { class: 'controls' })
  const body = h('div', { class: 'panels' }, loading())
  place.replaceChildren(h('h1', { class: 'hidden' }, 'Percentiles'), controls, body)
  let asked = null
  let answers = null
  let stop = new AbortController()

  async function update() {
    const q = read()
    controls.replaceChildren(select('Lines', splits, q.get('by') ?? '', (by) => go(href({ by }))), select('Spans of time', spans, q.get('every') ?? '', (every) => go(href({ every }))),
      select('Percentile', ranks, rankOf(q), (rank) => go(href({ rank: rank === 'p95' ? null : rank }))))
    const params = filterOf(q)
    if (q.get('by')) params.set('by', q.get('by'))
    const over = new URLSearchParams(params)
    if (q.get('every')) over.set('every', q.get('every'))
    params.set('every', 'all')
    if (over.toString() !== asked) {
      asked = over.toString()
      stop.abort()
      stop = new AbortController()
      const wait = setTimeout(() => body.replaceChildren(loading()), 400)
      try {
        answers = await Promise.all([ask('stats', over, stop.signal), ask('stats', params, stop.signal)])
        say(`${many(answers[1].groups.reduce((n, g) => n + g.turns, 0), 'turn')} counted`)
      } catch (error) {
        if (error.name === 'AbortError') return
        answers = null
        body.replaceChildren(problem(error, () => { asked = null; update() }))
        return
      } finally {
        clearTimeout(wait)
      }
    }
    if (answers) body.replaceChildren(...drawn(...answers, rankOf(q)))
  }
  update()
  return { update, leave: () => stop.abort() }
}

const rankOf = (q) => (ranks.some(([v]) => v === q.get('rank')) ? q.get('rank') : 'p95')

const rankName = (rank) => ranks.find(([v]) => v === rank)[1]

function drawn(over, all, rank) {
  if (all.groups.length === 0 && filterOf(read()).size === 0) return [note('No turns yet', 'Percentiles appear here as soon as somebody has called.')]
  if (all.groups.length === 0) return [note('No turns match', 'Nothing that is kept fits all of the filters. Take one away, or choose more time.')]
  const names = [...all.groups].sort((a, b) => b.judged - a.judged).map((g) => g.name)
  const split = names.length > 1 || names[0] !== ''
  const shown = names.slice(0, most)
  const times = over.groups.map((g) => Date.parse(g.at))
  const middle = (over.every_s * 1000) / 2
  const panel = (title, limit, pick, cls, big) => {
    const line = (name, cls, of) => ({
      name, cls, points: over.groups.filter((g) => g.name === name && pick(g)?.n).map((g) => ({ t: Date.parse(g.at) + middle, v: pick(g)[of], n: pick(g).n })),
    })
    const series = split ? shown.map((name, i) => line(name, `g${i}`, rank)) : [line('', cls, rank)]
    if (!split && rank !== 'p50') series.unshift(line('', `${cls} median`, 'p50'))
    const figure = h('div', { class: 'figure' })
    observeWidth(figure, (width) => figure.replaceChildren(chart({
      series, limit, every: over.every_s, from: Math.min(...times), to: Math.max(...times) + 2 * middle, width, height: big ? 240 : 150, title: `${title}, ${rankName(rank)}, over time`,
    })))
    return h('section', { class: big ? 'panel big' : 'panel' }, h('h2', {}, cls === 'g-gap' ? null : h('span', { class: `swatch f-${cls.slice(2)}`, 'aria-hidden': 'true' }), title), figure)
  }
  const total = limitOf(over.plans_ms)
  const shares = over.shares_ms ?? {}
  return [
    split ? h('ul', { class: 'legend', 'aria-label': 'Lines' }, shown.map((name, i) => h('li', {}, h('span', { class: `stroke g${i}`, 'aria-hidden': 'true' }), name || '(none)')),
      names.length > most ? h('li', { class: 'quiet' }, `${names.length - most} with fewer turns are in the table only`) : null)
      : h('ul', { class: 'legend', 'aria-label': 'Lines' }, h('li', {}, h('span', { class: 'stroke rank', 'aria-hidden': 'true' }), rankName(rank)),
        rank === 'p50' ? null : h('li', {}, h('span', { class: 'stroke median', 'aria-hidden': 'true' }), 'Median'), h('li', {}, h('span', { class: 'swatch line', 'aria-hidden': 'true' }), 'Budget, or share of it')),
    total === null ? h('p', { class: 'panel wide quiet' }, `There is no line for the budget: ${budgetsOf(over.plans_ms)}. Choose a route, or other turns.`) : null,
    panel('Gap', total, (g) => g.gap_ms, 'g-gap', true), ...stages.map((k) => panel(stageNames[k], shares[k] ?? null, (g) => g.stages_ms[k], `c-${k}`)),
    groupTable(all, total, rank), spanTable(over, total, rank, split),
  ].filter(Boolean)
}

function groupTable(all, total, rank) {
  const row = (g) => h('tr', {}, h('th', { scope: 'row' }, g.name || (all.groups.length > 1 ? '(none)' : 'All turns')), h('td', { class: 'num' }, count(g.judged)),
    h('td', { class: 'num' }, share(g.verdicts.met ?? 0, g.judged)), h('td', {}, apart(g) || '–'),
    ['p50', 'p90', 'p95', 'p99'].map((p) => h('td', { class: g.gap_ms[p] > (limitOf(g.plans_ms) ?? Infinity) ? 'num bad' : 'num' }, ms(g.gap_ms.n ? g.gap_ms[p] : null))),
    stages.map((k) => h('td', { class: g.stages_ms[k]?.[rank] > all.shares_ms?.[k] ? 'num bad' : 'num' }, ms(g.stages_ms[k]?.[rank]))), h('td', {}, blamed(g)))
  return h('section', { class: 'panel wide', 'aria-labelledby': 'h-groups' }, h('h2', { id: 'h-groups' }, 'In numbers'),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table of percentiles' },
      h('table', { class: 'plain' }, h('caption', { class: 'hidden' }, 'Percentiles of the gap and of each stage'),
        head('Turns of', ['Judged', 'num'], ['Met', 'num'], 'Besides', ['Gap p50', 'num'], ['p90', 'num'], ['p95', 'num'], ['p99', 'num'], ...stages.map((k) => [`${stageNames[k]} ${rank}`, 'num']), 'Most to blame'),
        h('tbody', {}, all.groups.map(row)))))
}

function blamed(g) {
  const [stage, n] = Object.entries(g.blamed).sort((a, b) => b[1] - a[1])[0] ?? []
  return stage ? [h('span', { class: `swatch f-${stage}`, 'aria-hidden': 'true' }), `${stageNames[stage]}, ${count(n)}`] : '–'
}

// spanTable has the numbers of the lines; each span leads to its turns.
function spanTable(over, total, rank, split) {
  const row = (g) => {
    const end = new Date(Date.parse(g.at) + over.every_s * 1000).toISOString()
    return h('tr', {}, h('th', { scope: 'row' }, h('a', { href: href({ view: null, since: g.at, until: end, rank: null, every: null, by: null }), 'data-go': true }, exactly(g.at))),
      split ? h('td', {}, g.name || '(none)') : null, h('td', { class: 'num' }, count(g.judged)), h('td', { class: total !== null && g.gap_ms[rank] > total ? 'num bad' : 'num' }, ms(g.gap_ms.n ? g.gap_ms[rank] : null)),
      stages.map((k) => h('td', { class: 'num' }, ms(g.stages_ms[k]?.[rank]))))
  }
  return h('details', { class: 'panel wide' }, h('summary', {}, `All ${count(over.groups.length)} spans as a table`),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table of spans of time' },
      h('table', { class: 'plain' }, head('From', ...(split ? ['Turns of'] : []), ['Judged', 'num'], [`Gap ${rank}`, 'num'], ...stages.map((k) => [`${stageNames[k]} ${rank}`, 'num'])), h('tbody', {}, over.groups.slice(-2000).map(row)))))
}
