// Elements are made here and nowhere else. Text goes in as text: what anybody said is never read as markup.

const svgSpace = 'http://www.w3.org/2000/svg'

// h returns an HTML element. Of props, functions listen (onclick), true and false set or leave out, and all else are attributes.
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children)

// s returns an SVG element.
export const s = (tag, props, ...children) => fill(document.createElementNS(svgSpace, tag), props, children)

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value)
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false))
  return element
}

export const byID = (id) => document.getElementById(id)

// say tells those who listen to the page what has changed.
export function say(text) {
  const place = byID('said')
  if (place.textContent !== text) place.textContent = text
}
