// Small pieces that several views have.

import { h, s } from './dom.js'
import { many, stageNames, verdictOf } from './format.js'

const shapes = {
  met: [s('circle', { cx: 6, cy: 6, r: 4.5 })],
  masked: [s('circle', { cx: 6, cy: 6, r: 4.2, class: 'open' }), s('path', { d: 'M6 1.8a4.2 4.2 0 0 1 0 8.4z' })],
  over: [s('path', { d: 'M6 1L11.5 11H.5z' })],
  failed: [s('path', { class: 'open', d: 'M2 2l8 8M10 2l-8 8' })],
  none: [s('path', { class: 'open', d: 'M2 6h8' })],
}

// sign returns the sign of a verdict: colour alone says nothing to some.
export const sign = (name) => s('svg', { class: 'sign', viewBox: '0 0 12 12', 'aria-hidden': 'true', focusable: 'false' }, (shapes[name] ?? shapes.none).map((e) => e.cloneNode()))

// verdict returns a verdict with its sign.
export function verdict(name, blame) {
  const v = verdictOf(name)
  return h('span', { class: `verdict v-${v.name}`, title: v.about }, sign(v.name), v.name,
    blame ? h('span', { class: 'blame' }, h('span', { class: `swatch f-${blame}`, 'aria-hidden': 'true' }), stageNames[blame] ?? blame) : null)
}

// note returns what is shown in place of what there is not.
export const note = (title, text, ...more) => h('div', { class: 'note' }, h('h2', {}, title), h('p', {}, text), more)

// problem returns an error, and how to mend it.
export function problem(error, again) {
  const calm = { no_traces: 'No traces yet', not_kept: 'No traces are kept', unknown: 'This turn is not here', off: 'Switched off' }
  return h('div', { class: calm[error.code] ? 'note' : 'note bad', role: calm[error.code] ? null : 'alert' }, h('h2', {}, calm[error.code] ?? 'That did not work'),
    h('p', {}, error.message || String(error)), again ? h('p', {}, h('button', { type: 'button', onclick: again }, 'Try again')) : null)
}

// long returns a text. Of a very long one only the beginning shows, until the rest is asked for.
export function long(text, most = 600) {
  if (text.length <= most * 1.25) return text
  const space = text.lastIndexOf(' ', most)
  const end = space > most / 2 ? space : most - /[\uD800-\uDBFF]/.test(text[most - 1]) // not in the middle of a letter
  const rest = h('span', { hidden: true }, text.slice(end))
  const all = `… and ${many(text.length - end, 'more letter')}`
  const button = h('button', { type: 'button', class: 'more', 'aria-expanded': 'false', onclick: () => {
    rest.hidden = !rest.hidden
    button.setAttribute('aria-expanded', !rest.hidden)
    button.textContent = rest.hidden ? all : 'Show less'
  } }, all)
  return [text.slice(0, end), rest, ' ', button]
}

// loading is shown only when an answer takes longer than people notice.
export const loading = () => h('p', { class: 'note wait', 'aria-busy': 'true' }, 'Loading …')

// legend says which colour is which stage.
export const legend = () => h('ul', { class: 'legend', 'aria-label': 'Stages' },
  Object.entries(stageNames).map(([k, name]) => h('li', {}, h('span', { class: `swatch f-${k}`, 'aria-hidden': 'true' }), name)),
  h('li', {}, h('span', { class: 'swatch line', 'aria-hidden': 'true' }), 'Budget'))

// head returns the head of a table.
export const head = (...names) => h('thead', {}, h('tr', {}, names.map((n) => h('th', { scope: 'col', class: typeof n === 'string' ? null : n[1] }, typeof n === 'string' ? n : n[0]))))

// select returns a labelled choice.
export function select(label, options, value, onchange) {
  return h('label', {}, label, h('select', { onchange: (e) => onchange(e.target.value) }, options.map(([v, name]) => h('option', { value: v, selected: v === value }, name))))
}
