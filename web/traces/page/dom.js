// Elements are made here and nowhere else. Text goes in as text: what callers said is never read as markup.

const svgSpace = 'http://www.w3.org/2000/svg'

// h returns an HTML element. Of props, functions listen (onclick), true and false set or leave out, and all else are attributes.
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children)
}

// s returns an SVG element.
export function s(tag, props, ...children) {
  return fill(document.createElementNS(svgSpace, tag), props, children)
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value)
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false))
  return element
}

// hidden returns text for those who listen to the page.
export const hidden = (text) => h('span', { class: 'hidden' }, text)

// say tells those who listen to the page what has changed. It is for what they asked for, not for every new turn.
export function say(text) {
  const place = document.getElementById('said')
  if (place.textContent !== text) place.textContent = text
}

// observeWidth calls draw with the width of an element whenever that changes, and at once.
export function observeWidth(element, draw) {
  let last = 0
  const watch = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth)
    if (!element.isConnected) watch.disconnect()
    else if (width && width !== last) draw((last = width))
  })
  watch.observe(element)
}
