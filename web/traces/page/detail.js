// One turn: what was said, where the time went, and what was recorded.

import { ask } from './api.js'
import { bar, barText } from './bar.js'
import { h, hidden, observeWidth, say } from './dom.js'
import { exactly, isUnasked, many, ms, number, saidOf, share, signed, stageNames, stages, verdictOf, words } from './format.js'
import { head, loading, long, problem, verdict } from './parts.js'
import { player } from './sound.js'
import { href, read } from './state.js'
import { waterfall } from './waterfall.js'

// detail shows turns in a place of the page.
export function detail(place, close) {
  let id = null
  let zoom = null
  let stop = new AbortController()
  let sound = null
  let first = true // What the page was opened with takes no focus.

  async function show(wanted) {
    const z = read().get('zoom')
    if (wanted === id && z === zoom) {
      first = false
      return
    }
    const other = wanted !== id
    id = wanted
    zoom = z
    stop.abort()
    stop = new AbortController()
    sound?.stop()
    sound = null
    if (!id) {
      first = false
      place.replaceChildren()
      return
    }
    const wait = setTimeout(() => place.replaceChildren(loading()), place.firstChild ? 400 : 0)
    try {
      const turn = await ask('turn', new URLSearchParams({ id }), stop.signal)
      sound = turn.sound ? player(turn) : null
      const keep = place.contains(document.activeElement) ? document.activeElement.id : null
      place.replaceChildren(...drawn(turn, sound, zoom === 'whole', close))
      if (other) place.scrollTop = 0
      const heading = place.querySelector('h2')
      if (keep) (document.getElementById(keep) ?? heading).focus()
      else if (other && !first && !document.activeElement?.closest?.('tbody, input, select')?.offsetParent) heading.focus({ preventScroll: true })
      if (other && !first) say(spoken(turn))
      first = false
    } catch (error) {
      if (error.name === 'AbortError') return
      place.replaceChildren(back(close), problem(error, () => { id = null; show(wanted) }))
    } finally {
      clearTimeout(wait)
    }
  }
  return {
    show,
    leave() {
      stop.abort()
      sound?.stop()
    },
  }
}

const back = (close) => h('p', { class: 'bar2' }, h('button', { type: 'button', id: 'close', onclick: close }, '← Back to the list'))

// spoken returns a turn in a sentence.
function spoken(t) {
  const gap = t.gap_ms === null ? 'not answered aloud' : isUnasked(t) && !t.verdict ? `${saidOf(t)}, heard after ${ms(t.gap_ms)}` : `answered after ${ms(t.gap_ms)} of ${ms(t.plan_ms)}`
  return `Turn ${t.number}, ${verdictOf(t.verdict).name}, ${gap}${t.blame ? `, the ${stageNames[t.blame]} is to blame` : ''}`
}

function drawn(t, sound, whole, close) {
  const figure = h('div', { class: 'figure' })
  const zooms = h('div', { class: 'zoom', role: 'group', 'aria-label': 'Part of the turn' },
    h('a', { id: 'zoom-first', href: href({ zoom: null }), 'data-go': true, 'aria-current': whole ? null : 'true' }, 'To the first sound'),
    h('a', { id: 'zoom-whole', href: href({ zoom: 'whole' }), 'data-go': true, 'aria-current': whole ? 'true' : null }, 'Whole turn'))
  observeWidth(figure, (width) => figure.replaceChildren(waterfall(t, { width, whole, sound })))
  return [
    h('div', { class: 'bar2' }, h('button', { type: 'button', id: 'close', onclick: close }, h('span', { class: 'narrow' }, '← Back to the list'), h('span', { class: 'broad' }, 'Close')), neighbours(t)),
    h('header', { class: 'head' },
      h('h2', { tabindex: '-1', id: 'turn-title' }, verdict(t.verdict), ' ', t.gap_ms === null ? 'Not answered aloud' : h('span', { class: 'big' }, ms(t.gap_ms), h('small', {}, t.verdict ? ` of ${ms(t.plan_ms)}` : ', not judged'))),
      t.blame ? h('p', { class: 'blamed' }, h('span', { class: `swatch f-${t.blame}`, 'aria-hidden': 'true' }), blamed(t), t.observed ? '. The budget was only observed: it did not act' : '') : null,
      t.marks_ms.answered - t.marks_ms.first_audible > 1 ? h('p', { class: 'blamed' }, `Something else was heard first. The answer itself came after ${ms(t.marks_ms.answered)}`) : null,
      h('p', { class: 'quiet' }, exactly(t.at), ' · ', t.route || 'no route', ' · ', t.version || 'no version', t.status ? ` · ${t.status}` : '', t.reason ? ` (${words(t.reason)})` : '')),
    h('div', { class: 'talk' },
      h('p', { class: 'said' }, h('b', {}, t.origin === 'written' ? 'Caller, in writing' : 'Caller'), h(t.said ? 'q' : 'span', {}, long(t.said || saidOf(t), longest()))),
      t.answer ? h('p', { class: 'answer' }, h('b', {}, 'Answer'), h('q', {}, long(t.answer, longest()))) : null),
    h('section', { 'aria-labelledby': 'h-waterfall' }, h('div', { class: 'titled' }, h('h3', { id: 'h-waterfall' }, 'Where the time went'), zooms), figure, sound?.element),
    stageTable(t), heardTable(t), momentTable(t), callStrip(t),
  ]
}

// blamed says what was with the stage that is to blame: for a masked turn, that the budget acted for it.
function blamed(t) {
  const acted = t.actions.filter((a) => a.stage === t.blame).map((a) => words(a.kind))
  const name = h('b', {}, stageNames[t.blame])
  if (t.verdict === 'masked' && acted.length) return h('span', {}, 'The budget acted for the ', name, `: ${acted.join(', ')}. It ${against(t.stages_ms[t.blame], t.shares_ms[t.blame])}`)
  return h('span', {}, name, ` ${against(t.stages_ms[t.blame], t.shares_ms[t.blame])}`)
}

// against says how a stage did.
function against(took, share) {
  if (took === undefined) return 'did not end'
  return took > share ? `took ${ms(took - share)} more than its share` : `took ${ms(share - took)} less than its share`
}

// neighbours leads to the turns before and after it in the call.
function neighbours(t) {
  const at = t.call_turns.findIndex((o) => o.id === t.id)
  const link = (o, text, id) => (o ? h('a', { id, href: href({ turn: o.id }), 'data-go': true }, text) : h('span', { class: 'quiet', 'aria-hidden': 'true' }, text))
  return h('span', { class: 'neighbours' }, link(t.call_turns[at - 1], '↑ Before', 'turn-before'), h('span', {}, `Turn ${t.number}`, h('span', { class: 'broad' }, ` of ${t.call_turns.length}`)), link(t.call_turns[at + 1], 'Next ↓', 'turn-next'))
}

// stageTable is the waterfall in numbers.
function stageTable(t) {
  const row = (k) => {
    const took = t.stages_ms[k]
    const over = took - t.shares_ms[k]
    const w = t.work[k]
    return h('tr', { class: t.blame === k ? 'blamed' : null },
      h('th', { scope: 'row' }, h('span', { class: `swatch f-${k}`, 'aria-hidden': 'true' }), stageNames[k], t.models[k] ? h('small', {}, t.models[k]) : null),
      h('td', { class: 'num' }, ms(took)), h('td', { class: 'num' }, ms(t.shares_ms[k])),
      h('td', { class: over > 0 ? 'num bad' : 'num' }, took === undefined ? '–' : signed(over)),
      h('td', { class: 'num' }, w ? many(w.runs, 'run') : '–'), h('td', { class: 'num' }, w ? ms(w.waited_ms) : '–'), h('td', { class: 'num' }, w ? ms(w.ran_ms) : '–'))
  }
  const tokens = t.tokens.input + t.tokens.output
  return h('section', { 'aria-labelledby': 'h-stages' }, h('h3', { id: 'h-stages' }, 'Stages'),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table of stages' },
      h('table', { class: 'plain' }, h('caption', { class: 'hidden' }, 'What each stage took against its share, and what it did on the executor'),
        head('Stage', ['Took', 'num'], ['Share', 'num'], ['Against it', 'num'], ['Executor', 'num'], ['Waited', 'num'], ['Ran', 'num']), h('tbody', {}, stages.map(row)))),
    h('p', { class: 'quiet' },
      tokens ? `${many(t.tokens.input, 'token')} read (${share(t.tokens.cached, t.tokens.input)} from memory), ${number(t.tokens.output)} written. ` : '',
      t.guesses.tries ? `${many(t.guesses.tries, 'draft')} begun ahead, ${t.guesses.stood ? 'one was used' : 'none was used'}, ${many(t.guesses.wasted, 'token')} thrown away. ` : '',
      t.tools.length ? `Tools: ${t.tools.join(', ')}.` : ''))
}

// heardTable is what the recogniser thought, over time.
function heardTable(t) {
  if (t.words.length === 0) return null
  return h('section', { 'aria-labelledby': 'h-heard' }, h('h3', { id: 'h-heard' }, 'The words as they came'),
    tall(t.words.length, 'Table of the words as they came', h('table', { class: 'plain heard' }, h('caption', { class: 'hidden' }, 'Hypotheses of the recogniser over time'), head(['At', 'num'], 'Heard so far'),
      h('tbody', {}, t.words.map((w) => h('tr', {}, h('td', { class: 'num' }, ms(w.at_ms)), h('td', {}, heard(w))))))),
    h('p', { class: 'quiet' }, 'Time counts from the end of speech. Strong words will not change any more.'))
}

// longest is how many letters of what was said show at first: on a phone the picture should not be far below.
const longest = () => (innerWidth < 640 ? 300 : 600)

// heard returns what the recogniser thought. Of what is very long the end: that is what came last.
function heard(w) {
  const most = 240
  const from = w.text.length > most ? w.text.indexOf(' ', w.text.length - most) + 1 || w.text.length - most : 0
  return [from ? '… ' : null, h('b', {}, w.sure.slice(from)), w.text.slice(Math.max(from, w.sure.length))]
}

// tall lets a table scroll by itself that has too many rows to be gone past.
const tall = (rows, label, table) => (rows > 24 ? h('div', { class: 'scroll tall', tabindex: '0', role: 'group', 'aria-label': label }, table) : table)

// momentTable is what happened, in the order of time.
function momentTable(t) {
  const all = [...t.events.filter((e) => e.kind !== 'action').map((e) => ({ ...e, what: words(e.kind) })), ...t.actions.map((a) => ({ ...a, what: `budget: ${words(a.kind)}`, detail: stageNames[a.stage] })),
    ...Object.entries(t.marks_ms).map(([kind, at_ms]) => ({ at_ms, what: words(kind), mark: true }))].sort((a, b) => a.at_ms - b.at_ms)
  return h('section', { 'aria-labelledby': 'h-moments' }, h('h3', { id: 'h-moments' }, 'Marks and events'),
    tall(all.length, 'Table of marks and events', h('table', { class: 'plain' }, h('caption', { class: 'hidden' }, 'Everything that happened in this turn, in the order of time'), head(['At', 'num'], 'What', 'About'),
      h('tbody', {}, all.map((e) => h('tr', { class: e.mark ? 'quiet' : null }, h('td', { class: 'num' }, ms(e.at_ms)), h('td', {}, e.what), h('td', {}, long(e.detail ?? '', 240))))))))
}

// callStrip is the whole call in small.
function callStrip(t) {
  return h('section', { 'aria-labelledby': 'h-call' }, h('h3', { id: 'h-call' }, 'The call'),
    h('p', { class: 'quiet' }, h('a', { href: href({ call: t.call, from: null }), 'data-go': true }, t.call), `, ${many(t.call_turns.length, 'turn')}`),
    h('ol', { class: 'strip' }, t.call_turns.map((o) => h('li', { class: o.id === t.id ? 'current' : null },
      h('a', { href: href({ turn: o.id }), 'data-go': true, 'aria-current': o.id === t.id ? 'true' : null }, h('span', { class: 'num' }, o.number), verdict(o.verdict),
        bar(o), hidden(barText(o)), h('span', { class: 'what' }, saidOf(o)))))))
}
