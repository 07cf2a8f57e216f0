// The page: which view is shown, and what stands above all of them.

import { ask } from './api.js'
import { callsView } from './calls.js'
import { compareView } from './compare.js'
import { h, say } from './dom.js'
import * as filter from './filter.js'
import { filterKeys, filterOf, go, href, onChange, read, viewOf } from './state.js'
import { statsView } from './stats.js'
import { turnsView } from './turns.js'

const main = document.getElementById('main')
const titles = { turns: 'Turns', calls: 'Calls', stats: 'Percentiles', compare: 'Compare' }
const makers = { turns: turnsView, calls: callsView, stats: statsView, compare: (place) => compareView(place, () => names) }
let names = { routes: [], versions: [], models: [], exports: [] }
let view = null
let shown = null

function update() {
  const q = read()
  const wanted = viewOf(q)
  document.title = `${titles[wanted]} · Riposte traces`
  for (const link of document.querySelectorAll('#views a')) {
    // Another view shows the same turns.
    const keep = Object.fromEntries([...q.keys()].filter((k) => ![...filterKeys, 'live'].includes(k)).map((k) => [k, null]))
    link.href = href({ ...keep, view: link.dataset.view === 'turns' ? null : link.dataset.view })
    if (link.dataset.view === wanted) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  const live = document.getElementById('live')
  live.hidden = wanted === 'stats' || wanted === 'compare'
  live.setAttribute('aria-pressed', q.get('live') !== 'off')
  filter.show()
  exportLinks(q)
  if (wanted === view) {
    shown.update()
    return
  }
  shown?.leave()
  view = wanted
  shown = makers[view](main)
}

// exportLinks offers the turns that are chosen, for other programs.
function exportLinks(q) {
  const menu = document.getElementById('export')
  menu.hidden = names.exports.length === 0
  const label = { csv: ['CSV', 'for spreadsheets'], otlp: ['OTLP JSON', 'OpenTelemetry spans'], perfetto: ['Perfetto', 'for ui.perfetto.dev'] }
  document.getElementById('exports').replaceChildren(...names.exports.map((format) => {
    const params = filterOf(q)
    params.set('format', format)
    return h('li', {}, h('a', { href: `/traces/export?${params}`, download: true }, label[format][0], h('small', {}, label[format][1])))
  }))
}

document.getElementById('live').addEventListener('click', () => go(href({ live: read().get('live') === 'off' ? null : 'off' }), { replace: true }))

document.getElementById('share').addEventListener('click', async (event) => {
  const button = event.currentTarget
  try {
    await navigator.clipboard.writeText(location.href)
    button.textContent = 'Copied'
    say('The link was copied')
  } catch {
    button.textContent = 'Copy the address bar'
    say('The browser does not let the page copy. The address bar has the link')
  }
  setTimeout(() => (button.textContent = 'Copy link'), 2000)
})

const menu = document.getElementById('export')
document.addEventListener('click', (event) => {
  if (menu.open && !menu.contains(event.target)) menu.open = false
})
menu.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !menu.open) return
  event.stopPropagation()
  menu.open = false
  menu.querySelector('summary').focus()
})
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault()
  main.focus()
})

onChange(update)
update()

// learn asks what filters can name, again and again while that is nothing: there may be no traces yet, or the service does not answer.
async function learn() {
  try {
    const answer = document.hidden ? names : await ask('names', '')
    if (answer !== names) {
      names = answer
      filter.fillNames(names)
      exportLinks(read())
      if (view === 'compare') shown.update()
    }
  } catch (error) {
    if (error.code === 'not_kept') return
    if (error.code !== 'no_traces') say(error.message)
  }
  if (names.models.length === 0) setTimeout(learn, 5000)
}
learn()
