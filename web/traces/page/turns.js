// The list of turns, with a summary above it and the turn that is open beside it.

import { ask } from './api.js'
import { bar, barText } from './bar.js'
import { detail } from './detail.js'
import { h, hidden, say } from './dom.js'
import { apart, budgetsOf, count, dayOf, exactly, limitOf, many, ms, saidOf, share, timeOf, verdicts } from './format.js'
import { live } from './live.js'
import { head, legend, loading, note, problem, verdict } from './parts.js'
import { filterOf, go, href, read } from './state.js'

const wide = matchMedia('(min-width: 1000px)')

// turnsView shows the list. It returns what to call when the address has changed, and what to call when another view takes its place.
export function turnsView(place) {
  const summary = h('section', { class: 'summary', 'aria-label': 'Summary of these turns' })
  const list = h('section', { class: 'list', 'aria-label': 'Turns' })
  const side = h('section', { class: 'side', 'aria-label': 'Turn' })
  const split = h('div', { class: 'split' }, h('div', { class: 'left' }, summary, list), side)
  place.replaceChildren(h('h1', { class: 'hidden' }, 'Turns'), split)
  let asked = null // The question that the list answers.
  let shown = null // The answer that it shows.
  let counted = 0
  let stop = new AbortController()
  const open = detail(side, close)

  async function update() {
    const q = read()
    split.classList.toggle('open', Boolean(q.get('turn')))
    open.show(q.get('turn'))
    const question = listParams(q).toString()
    mark(q.get('turn'))
    if (question === asked) return
    asked = question
    stop.abort()
    stop = new AbortController()
    const wait = setTimeout(() => list.replaceChildren(loading()), shown ? 400 : 0)
    try {
      await Promise.all([look(stop.signal, true), sum(stop.signal)])
    } catch (error) {
      if (error.name === 'AbortError') return
      shown = null
      counted = 0 // There is no summary: it comes with the first news.
      summary.replaceChildren()
      list.replaceChildren(problem(error, () => { asked = null; update() }))
    } finally {
      clearTimeout(wait)
    }
  }

  // look asks for the list, and reports whether it is another one.
  async function look(signal, tell) {
    const answer = await ask('turns', listParams(read()), signal)
    if (answer === shown) return false
    const before = shown && !tell ? shown.turns : null
    shown = answer
    if (!before || !prepend(before)) draw(before && new Set(before.map((t) => t.id)))
    if (tell) say(answer.turns.length ? `${many(answer.turns.length, 'turn')} listed` : 'No turns match the filter')
    return true
  }

  // sum asks for the summary, which goes through all turns, so seldom.
  async function sum(signal) {
    counted = Date.now()
    const q = filterOf(read())
    q.set('every', 'all')
    const { groups, plans_ms: plans } = await ask('stats', q, signal)
    summary.replaceChildren(...(groups.length ? summaryOf(groups[0], plans) : []))
  }

  // prepend puts new turns above those that are listed, which stay where the reader has them. It reports whether that was all there was to do.
  function prepend(before) {
    const first = list.querySelector('tr[data-id]')
    const k = shown.turns.findIndex((t) => t.id === before[0]?.id)
    if (!first || k < 0 || shown.turns.slice(0, k + 1).some((t) => dayOf(t.at) !== dayOf(before[0].at))) return false
    if (shown.turns.slice(k).some((t, i) => JSON.stringify(t) !== JSON.stringify(before[i]))) return false
    first.before(...shown.turns.slice(0, k).map((t) => row(t, true)))
    for (const old of [...list.querySelectorAll('tr[data-id]')].slice(shown.turns.length)) old.remove()
    list.querySelector('.pages').replaceWith(pages())
    mark(read().get('turn'))
    return true
  }

  const pages = () => h('nav', { class: 'pages', 'aria-label': 'Pages' },
    read().get('from') ? h('a', { href: href({ from: null }), 'data-go': true }, '← Newest') : h('span'),
    shown.next ? h('a', { href: href({ from: shown.next }), 'data-go': true }, 'Older →') : h('span'))

  function draw(fresh) {
    const q = read()
    if (shown.turns.length === 0) {
      const filter = filterOf(q)
      const filtered = filter.size > 0 || q.get('from')
      const only = filter.size === 1 && filter.get('call') && !q.get('from')
      list.replaceChildren(only ? note('No turns of this call', 'A turn appears here when its answer has ended. Turns that are older than the setting trace.keep are removed.')
        : filtered ? note('No turns match', 'Nothing that is kept fits all of the filters. Take one away, or choose more time.')
        : note('No turns yet', 'They appear here as soon as somebody has called.'))
      return
    }
    const focused = document.activeElement?.closest?.('tr')?.dataset.id
    let day = dayOf(new Date())
    const rows = shown.turns.flatMap((t) => {
      const same = dayOf(t.at) === day
      day = dayOf(t.at)
      return same ? [row(t, fresh && !fresh.has(t.id))] : [dayRow(day), row(t, fresh && !fresh.has(t.id))]
    })
    list.replaceChildren(
      h('table', { class: 'turns', role: 'table' }, h('caption', { class: 'hidden' }, 'Turns, newest first. Arrow keys go from turn to turn, Enter opens one.'),
        head('Verdict', ['Gap', 'num'], 'Stages', 'Said', ['Time', 'num']), h('tbody', { onkeydown: keys, onclick: click }, rows)), pages())
    mark(q.get('turn'))
    if (focused) list.querySelector(`tr[data-id="${CSS.escape(focused)}"] a`)?.focus({ preventScroll: true })
  }

  // mark shows which row is open, and lets the Tab key lead to it.
  function mark(id) {
    const links = [...list.querySelectorAll('tbody a')]
    const at = Math.max(links.findIndex((a) => a.dataset.id === id), 0)
    links.forEach((a, i) => {
      a.tabIndex = i === at ? 0 : -1
      const current = a.dataset.id === id
      a.closest('tr').classList.toggle('current', current)
      if (current) a.setAttribute('aria-current', 'true')
      else a.removeAttribute('aria-current')
    })
  }

  // keys lets arrows lead from row to row. Beside an open turn they open the next one.
  function keys(event) {
    const links = [...list.querySelectorAll('tbody a')]
    const now = links.indexOf(document.activeElement)
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: links.length - 1, PageDown: now + 10, PageUp: now - 10 }[event.key]
    if (to === undefined || now < 0 || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const link = links[Math.min(Math.max(to, 0), links.length - 1)]
    links.forEach((a) => (a.tabIndex = a === link ? 0 : -1))
    link.focus()
    if (read().get('turn') && wide.matches) go(href({ turn: link.dataset.id, play: null }), { replace: true })
  }

  function click(event) {
    const link = event.target.closest('tr')?.querySelector('a')
    if (!link || event.target.closest('a') || String(getSelection())) return
    go(link.getAttribute('href'))
  }

  function close() {
    const id = read().get('turn')
    go(href({ turn: null, zoom: null }))
    const link = list.querySelector(`tr[data-id="${CSS.escape(id ?? '')}"] a`) ?? list.querySelector('tbody a')
    link?.focus()
  }

  const poll = live(async () => {
    const news = await look(stop.signal, false)
    if (news && Date.now() - counted > 10000) await sum(stop.signal)
    return news
  }, () => read().get('live') !== 'off' && !read().get('from') && asked !== null)
  const escape = (event) => {
    if (event.key === 'Escape' && read().get('turn') && !event.target.closest('input, select, details[open]')) close()
  }
  document.addEventListener('keydown', escape)
  update()
  return {
    update() {
      update()
      poll.again()
    },
    leave() {
      stop.abort()
      poll.stop()
      open.leave()
      document.removeEventListener('keydown', escape)
    },
  }
}

function listParams(q) {
  const out = filterOf(q)
  if (q.get('from')) out.set('from', q.get('from'))
  return out
}

function row(t, fresh) {
  return h('tr', { role: 'row', 'data-id': t.id, class: fresh ? 'fresh' : null },
    h('td', { role: 'cell', class: 'c-verdict' }, verdict(t.verdict, t.blame)),
    h('td', { role: 'cell', class: 'c-gap num' }, t.gap_ms === null ? h('span', { class: 'quiet' }, '–', hidden('none')) : ms(t.gap_ms)),
    h('td', { role: 'cell', class: 'c-bar' }, bar(t), hidden(barText(t))),
    h('th', { role: 'rowheader', scope: 'row', class: 'c-said' },
      h('a', { href: href({ turn: t.id }), 'data-go': true, 'data-id': t.id }, saidOf(t)), t.recorded ? h('span', { class: 'tag', title: 'Its sound was recorded' }, 'sound') : null),
    h('td', { role: 'cell', class: 'c-time num' }, h('time', { datetime: t.at, title: exactly(t.at) }, timeOf(t.at))))
}

const dayRow = (day) => h('tr', { role: 'row', class: 'day' }, h('th', { role: 'rowheader', scope: 'rowgroup', colspan: 5 }, day))

function summaryOf(g, plans) {
  const total = limitOf(plans)
  const met = g.verdicts.met ?? 0
  const order = Object.keys(verdicts).filter((v) => v !== 'none' && g.verdicts[v])
  const besides = apart(g)
  const gap = (rank) => ms(g.judged ? g.gap_ms[rank] : null)
  const left = total === null || !g.judged ? '' : g.gap_ms.p95 > total ? `${ms(g.gap_ms.p95 - total)} over` : `${ms(total - g.gap_ms.p95)} left`
  const late = (rank) => total !== null && g.gap_ms[rank] > total
  const figure = (name, value, about, bad) => h('div', { class: bad ? 'bad' : null }, h('dt', {}, name), h('dd', {}, value, about ? h('small', {}, about) : null))
  return [
    h('dl', { class: 'figures' },
      figure('Turns', count(g.turns), besides ? `${count(g.judged)} judged; ${besides}` : null),
      figure('Answered in time', share(met, g.judged), order.filter((v) => v !== 'met').map((v) => `${count(g.verdicts[v])} ${v}`).join(', ')),
      figure('Gap, median', gap('p50'), budgetsOf(plans), late('p50')),
      figure('Gap, 95th percentile', gap('p95'), left, late('p95'))),
    legend(),
  ]
}
