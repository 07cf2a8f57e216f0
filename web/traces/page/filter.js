// The form that says which turns are shown. It reads from the address and writes to it.

import { h } from './dom.js'
import { stageNames, verdicts } from './format.js'
import { filterKeys, go, href, read } from './state.js'

const form = document.getElementById('filter')
const field = (name) => form.elements[name]
const lists = ['verdict', 'blame', 'origin', 'route', 'model', 'version', 'status']
const rest = ['blame', 'origin', 'gap', 'route', 'model', 'version', 'status', 'call', 'until']
let custom = false // Whether times are being entered that the address does not have yet.

// names fills the lists with what there is.
export function fillNames(names) {
  const values = { verdict: names.verdicts, blame: names.stages, origin: ['aloud', 'greeting', 'prompt', 'written', 'requested'], route: names.routes, model: names.models, version: names.versions, status: names.statuses }
  for (const name of lists) {
    const options = (values[name] ?? []).map((v) => h('option', { value: v }, label(name, v)))
    field(name).replaceChildren(h('option', { value: '' }, 'Any'), ...options)
  }
  show()
}

const label = (name, value) => (name === 'verdict' ? `${verdicts[value]?.sign ?? ''} ${value}` : name === 'blame' ? stageNames[value] ?? value : value)

// isRelative reports whether a time is how long ago it was.
const isRelative = (text) => /^\d+(\.\d+)?[a-z]+$/.test(text)

// show writes the address into the form.
export function show() {
  const q = read()
  for (const name of ['text', 'call', ...lists]) put(field(name), q.getAll(name), name)
  put(field('gap'), [q.get('gap')?.replace(/ms$/, '') ?? ''])
  const since = q.get('since') ?? ''
  const until = q.get('until') ?? ''
  const absolute = custom || until !== '' || (since !== '' && !isRelative(since))
  if (!absolute && ![...field('since').options].some((o) => o.value === since)) field('since').append(h('option', { value: since }, `Last ${since}`))
  field('since').value = absolute ? 'custom' : since
  form.querySelector('.custom').hidden = !absolute
  put(field('from-time'), [forInput(since)])
  put(field('to-time'), [forInput(until)])
  const set = filterKeys.filter((k) => q.getAll(k).some((v) => v))
  const behind = set.filter((k) => rest.includes(k)).length
  const more = document.getElementById('more')
  more.textContent = behind ? `More filters (${behind})` : 'More filters'
  if ((behind || absolute) && more.getAttribute('aria-expanded') === 'false') expand(true)
  document.getElementById('clear').hidden = set.length === 0
}

// put sets a field, unless it is being typed into. Several values, which an address may have, are one entry of their list.
function put(input, values, name) {
  if (input === document.activeElement && input.tagName === 'INPUT') return
  const value = values.join(', ')
  if (value && input.tagName === 'SELECT' && ![...input.options].some((o) => o.value === value)) {
    const option = h('option', { value }, values.map((v) => label(name, v)).join(' or '))
    option.dataset.values = JSON.stringify(values)
    input.append(option)
  }
  input.value = value
}

// forInput writes a moment as the browser's field for times has it.
function forInput(text) {
  const t = new Date(text)
  if (!text || isRelative(text) || Number.isNaN(t.getTime())) return ''
  return new Date(t.getTime() - t.getTimezoneOffset() * 60000).toISOString().slice(0, 19)
}

// fromInput reads one.
const fromInput = (text) => (text ? new Date(text).toISOString() : null)

function expand(open) {
  document.getElementById('more').setAttribute('aria-expanded', open)
  document.getElementById('rest').hidden = !open
}

// apply writes the form into the address. Pages and turns that were open belong to what was chosen before.
function apply({ replace = false } = {}) {
  const changes = { from: null, text: field('text').value.trim(), call: field('call').value.trim() }
  for (const name of lists) {
    const option = field(name).selectedOptions[0]
    changes[name] = option?.dataset.values ? JSON.parse(option.dataset.values) : field(name).value
  }
  changes.gap = field('gap').value ? `${Number(field('gap').value)}ms` : null
  custom = field('since').value === 'custom'
  changes.since = custom ? fromInput(field('from-time').value) : field('since').value
  changes.until = custom ? fromInput(field('to-time').value) : null
  go(href(changes), { replace })
  show()
}

let typing = 0
form.addEventListener('input', (event) => {
  clearTimeout(typing)
  if (event.target.tagName === 'INPUT') typing = setTimeout(() => apply({ replace: true }), 350)
})
form.addEventListener('change', (event) => {
  clearTimeout(typing)
  if (event.target.tagName === 'SELECT') {
    if (event.target.name === 'since' && event.target.value === 'custom') {
      expand(true)
      form.querySelector('.custom').hidden = false
      field('from-time').focus()
    }
    apply()
  } else apply({ replace: true })
})
form.addEventListener('submit', (event) => {
  event.preventDefault()
  clearTimeout(typing)
  apply()
})
document.getElementById('more').addEventListener('click', (event) => expand(event.currentTarget.getAttribute('aria-expanded') === 'false'))
document.getElementById('clear').addEventListener('click', () => {
  custom = false
  go(href({ ...Object.fromEntries(filterKeys.map((k) => [k, null])), from: null }))
  field('text').focus()
})
