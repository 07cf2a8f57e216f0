// The list of calls.

import { ask } from './api.js'
import { h, hidden, say } from './dom.js'
import { count, exactly, lasted, many, ms, unasked, verdicts, when, words } from './format.js'
import { live } from './live.js'
import { head, loading, note, problem, sign } from './parts.js'
import { filterOf, go, href, read } from './state.js'

export function callsView(place) {
  const list = h('section', { class: 'list', 'aria-label': 'Calls' }, loading())
  place.replaceChildren(h('h1', { class: 'hidden' }, 'Calls'), list)
  let asked = null
  let shown = null
  let stop = new AbortController()

  async function update() {
    const question = params().toString()
    if (question === asked) return
    asked = question
    stop.abort()
    stop = new AbortController()
    try {
      await look(true)
    } catch (error) {
      if (error.name === 'AbortError') return
      shown = null
      list.replaceChildren(problem(error, () => { asked = null; update() }))
    }
  }

  function params() {
    const q = read()
    const out = filterOf(q)
    if (q.get('from')) out.set('from', q.get('from'))
    return out
  }

  async function look(tell) {
    const answer = await ask('calls', params(), stop.signal)
    if (answer === shown) return false
    const focused = document.activeElement?.dataset?.id
    shown = answer
    list.replaceChildren(...drawn(answer))
    if (focused) list.querySelector(`a[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true })
    if (tell) say(answer.calls.length ? `${many(answer.calls.length, 'call')} listed` : 'No calls match the filter')
    return true
  }

  const poll = live(() => look(false), () => read().get('live') !== 'off' && !read().get('from') && asked !== null)
  update()
  return {
    update() {
      update()
      poll.again()
    },
    leave() {
      stop.abort()
      poll.stop()
    },
  }
}

function drawn(answer) {
  const q = read()
  if (answer.calls.length === 0) {
    return [filterOf(q).size ? note('No calls match', 'Nothing that is kept fits all of the filters. Take one away, or choose more time.')
      : note('No calls yet', 'They appear here as soon as somebody calls.')]
  }
  return [
    h('table', { class: 'calls', role: 'table' }, h('caption', { class: 'hidden' }, 'Calls, newest first. A call leads to its turns.'),
      head('Call', 'Began', 'Lasted', 'Ended', 'Route', 'Verdicts of its turns', ['Longest gap', 'num']), h('tbody', { onkeydown: keys, onclick: click }, answer.calls.map(row))),
    h('nav', { class: 'pages', 'aria-label': 'Pages' },
      q.get('from') ? h('a', { href: href({ from: null }), 'data-go': true }, '← Newest') : h('span'),
      answer.next ? h('a', { href: href({ from: answer.next }), 'data-go': true }, 'Older →') : h('span')),
  ]
}

function keys(event) {
  const links = [...event.currentTarget.querySelectorAll('a')]
  const now = links.indexOf(document.activeElement)
  const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: links.length - 1 }[event.key]
  if (to === undefined || now < 0) return
  event.preventDefault()
  links[Math.min(Math.max(to, 0), links.length - 1)].focus()
}

// click lets the whole of a row lead to the call's turns.
function click(event) {
  const link = event.target.closest('tr')?.querySelector('a')
  if (link && !event.target.closest('a') && !String(getSelection())) go(link.getAttribute('href'))
}

function row(c) {
  const cell = (name, label, ...content) => h('td', { role: 'cell', class: `c-${name}`, 'data-label': label }, content)
  return h('tr', { role: 'row' },
    h('th', { role: 'rowheader', scope: 'row' }, h('a', { href: href({ view: null, call: c.id, turn: null, from: null }), 'data-go': true, 'data-id': c.id }, c.id)),
    cell('began', 'Began', h('time', { datetime: c.began, title: exactly(c.began) }, when(c.began))),
    cell('lasted', 'Lasted', c.ended ? lasted(c.began, c.ended) : h('span', { class: 'on' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), 'no end yet')),
    cell('ended', 'Ended', c.reason ? words(c.reason) : '–'),
    cell('route', 'Route', c.route || '–', c.wire ? h('small', {}, ` ${c.wire}`) : null, parties(c.record)),
    cell('verdicts', 'Turns', tally(c)),
    h('td', { role: 'cell', class: 'num', 'data-label': 'Longest gap' }, c.worst_gap_ms ? ms(c.worst_gap_ms) : '–'))
}

// parties shows who called whom, and what that cost.
function parties(record) {
  if (!record) return null
  const line = record.from || record.to ? `${record.from || 'unknown'} → ${record.to || 'unknown'}` : ''
  const parts = [line, record.transferred_to && `to ${record.transferred_to}`, record.cost && `${record.cost} ${record.currency ?? ''}`].filter(Boolean)
  return parts.length ? h('small', { class: 'quiet' }, ` ${parts.join(', ')}`) : null
}

// tally shows how many turns had which verdict.
function tally(c) {
  const parts = Object.keys(verdicts).filter((v) => c.verdicts[v])
  const besides = unasked(c.unasked)
  if (parts.length === 0 && !besides) return h('span', { class: 'quiet' }, 'no turns')
  return h('span', { class: 'tally' }, parts.map((v) => h('span', { class: `v-${v}`, title: verdicts[v].about }, sign(v),
    count(c.verdicts[v]), hidden(` ${v} `))), besides ? h('small', { class: 'quiet' }, besides) : null)
}
