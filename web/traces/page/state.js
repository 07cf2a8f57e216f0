// What the page shows is said by its address alone, so that an address can be shared and gone back to.

const listeners = []

export const filterKeys = ['since', 'until', 'call', 'route', 'version', 'model', 'verdict', 'blame', 'origin', 'status', 'gap', 'text']

// read returns the parameters of the address.
export const read = () => new URLSearchParams(location.search)

export const viewOf = (q) => (['calls', 'stats', 'compare'].includes(q.get('view')) ? q.get('view') : 'turns')

// href returns the address with some parameters changed; null removes one, and a list sets several.
export function href(changes, from = read()) {
  const q = new URLSearchParams(from)
  for (const [key, value] of Object.entries(changes)) {
    q.delete(key)
    for (const v of Array.isArray(value) ? value : [value]) if (v !== null && v !== undefined && v !== '') q.append(key, v)
  }
  const text = q.toString()
  return text ? `/traces?${text}` : '/traces'
}

// go changes the address. In place of the one before where that was not worth going back to.
export function go(address, { replace = false } = {}) {
  if (address === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  for (const f of listeners) f()
}

// onChange calls f whenever the address has changed.
export const onChange = (f) => listeners.push(f)

addEventListener('popstate', () => listeners.forEach((f) => f()))

// Links that stay on the page change the address without loading it again.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-go], #views a')
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  const to = new URL(link.href)
  go(to.pathname + to.search)
})

// filterOf returns the parameters that choose turns.
export function filterOf(q) {
  const out = new URLSearchParams()
  for (const key of filterKeys) for (const v of q.getAll(key)) if (v) out.append(key, v)
  return out
}
