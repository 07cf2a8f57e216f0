// What the page asks the service for.

// Problem is an error that says how it can be mended.
export class Problem extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

const kept = new Map() // The last answers, with their tags: a list that is asked for every other second is seldom another one.

// ask returns an answer as JSON. An answer that is not another than the last to the same question is the same object.
export async function ask(path, params, signal) {
  const address = `/traces/api/${path}?${params}`
  const before = kept.get(address)
  let reply
  try {
    reply = await fetch(address, { signal, cache: 'no-store', headers: before ? { 'If-None-Match': before.tag } : {} })
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Problem('unreachable', 'The service does not answer. Is it still running?')
  }
  if (reply.status === 304 && before) return before.answer
  let answer
  try {
    answer = await reply.json()
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Problem('unreadable', `The service answered with ${reply.status} and nothing that can be read.`)
  }
  if (!reply.ok) throw new Problem(answer.error?.code ?? 'failed', answer.error?.message ?? `The service answered with ${reply.status}.`)
  kept.delete(address)
  kept.set(address, { tag: reply.headers.get('ETag'), answer })
  if (kept.size > 40) kept.delete(kept.keys().next().value)
  return answer
}
