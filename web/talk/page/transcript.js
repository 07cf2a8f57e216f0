// The transcript as it is drawn.

import { h } from './dom.js'

const names = { user: 'You', agent: 'Riposte' }

// transcript keeps a place of the page as a conversation has it. What is read stays where it is: only what changed is drawn anew.
export function transcript(place) {
  const drawn = new Map()
  return (entries) => {
    const follows = place.scrollHeight - place.scrollTop - place.clientHeight < 40
    const ids = new Set(entries.map((e) => e.id))
    for (const [id, d] of drawn) {
      if (ids.has(id)) continue
      d.element.remove()
      drawn.delete(id)
    }
    let changed = false
    entries.forEach((e, i) => {
      const key = JSON.stringify(e)
      let d = drawn.get(e.id)
      if (!d) drawn.set(e.id, (d = { element: h('p', {}), key: '' }))
      if (place.children[i] !== d.element) place.insertBefore(d.element, place.children[i] ?? null)
      if (d.key === key) return
      d.key = key
      changed = true
      d.element.className = `entry ${e.role} ${e.state}`
      d.element.replaceChildren(h('span', { class: 'who' }, names[e.role]), h('span', { class: 'words' }, words(e)))
    })
    if (changed && follows) place.scrollTop = place.scrollHeight
  }
}

// words returns what was said, with what is not certain of it, or what nobody heard of it, set apart.
function words(e) {
  if (e.state === 'partial') {
    const sure = e.stable ?? ''
    return [h('span', { class: 'stable' }, sure), h('span', { class: 'unsure' }, e.text.slice(sure.length))]
  }
  if (e.state !== 'interrupted') return [e.text]
  const rest = e.text.slice(e.heard.length)
  return [h('span', {}, e.heard), rest.trim() ? h('s', { class: 'unheard', title: 'You interrupted before this was heard.' }, rest) : null, h('small', {}, ' interrupted')]
}
