// How numbers, times and names are written.

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const tenth = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const wholeDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const moment = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' })

export const stages = ['mic', 'stt', 'llm', 'tts']

export const stageNames = { mic: 'Microphone', stt: 'Recogniser', llm: 'Model', tts: 'Voice' }

// A verdict has a sign beside its colour.
export const verdicts = {
  met: { sign: '●', name: 'met', about: 'The answer was heard within the budget.' },
  masked: { sign: '◐', name: 'masked', about: 'The answer came late, and something else was heard in time.' },
  over: { sign: '▲', name: 'over', about: 'The answer was heard later than the budget allows.' },
  failed: { sign: '✕', name: 'failed', about: 'There was no answer, only an apology.' },
  none: { sign: '–', name: 'none', about: 'Not judged: it was not answered aloud, or nobody asked aloud.' },
}

export const verdictOf = (name) => verdicts[name || 'none'] ?? { sign: '?', name, about: '' }

// What turns answer that nobody asked for aloud: as text in the place of what was said, and as what is counted.
const origins = {
  greeting: { text: '(the greeting: a call began)', one: 'greeting', many: 'greetings' },
  prompt: { text: '(a prompt: the caller said nothing)', one: 'prompt', many: 'prompts' },
  written: { text: '(written)', one: 'written', many: 'written' },
  requested: { text: '(asked for by the client)', one: 'asked for by the client', many: 'asked for by the client' },
  unknown: { text: '', one: 'greeting or prompt of an older version', many: 'greetings or prompts of an older version' },
}

// isUnasked says whether nobody asked for a turn aloud. Of older versions only their having been heard without being judged tells.
export const isUnasked = (t) => Boolean(t.origin || (!t.verdict && t.gap_ms))

// saidOf returns what a turn answers, in words.
export function saidOf(t) {
  if (t.origin === 'written') return `${origins.written.text} ${t.said}`
  return origins[t.origin]?.text || t.said || (isUnasked(t) ? '(a greeting or a prompt)' : '(nothing was understood)')
}

// unasked says how many turns nobody asked for aloud, and what they were; nothing where there are none.
export function unasked(counts) {
  const parts = Object.keys(origins).filter((k) => counts[k]).map((k) => `${count(counts[k])} ${origins[k][counts[k] === 1 ? 'one' : 'many']}`)
  return parts.length ? `${count(Object.values(counts).reduce((a, b) => a + b, 0))} unasked: ${parts.join(', ')}` : ''
}

// apart says what a set holds besides the turns that have a verdict.
export const apart = (g) => [g.verdicts.none ? `${count(g.verdicts.none)} not answered aloud` : '', unasked(g.unasked)].filter(Boolean).join('; ')

// limitOf returns what gaps might be; null where that differs.
export const limitOf = (plans) => (plans.length === 1 ? plans[0] : null)

// budgetsOf says what gaps might be.
export const budgetsOf = (plans) => (plans.length < 2 ? `of ${ms(plans[0])}` : `budgets differ, from ${ms(plans[0])} to ${ms(plans.at(-1))}`)

export const count = (n) => whole.format(n)

export const number = (n) => (Math.abs(n) < 10 && !Number.isInteger(n) ? tenth.format(n) : whole.format(n))

// ms writes milliseconds; what is longer than ten seconds is written as seconds.
export function ms(n) {
  if (n === null || n === undefined) return '–'
  if (Math.abs(n) >= 10000) return `${tenth.format(n / 1000)} s`
  return `${number(n).replace('-', '−')} ms`
}

// signed writes a difference.
export const signed = (n) => (n > 0 ? '+' : '') + ms(n)

export function share(part, all) {
  if (!all) return '–'
  const p = (100 * part) / all
  return `${p === 0 || p === 100 ? whole.format(p) : tenth.format(p)} %`
}

export const many = (n, one, more = one + 's') => `${count(n)} ${n === 1 ? one : more}`

// when writes a time of day, with the day where that is not today's.
export function when(text) {
  const t = new Date(text)
  return isToday(t) ? clock.format(t) : `${day.format(t)}, ${clock.format(t)}`
}

// timeOf writes a time of day, and dayOf the day.
export const timeOf = (text) => clock.format(new Date(text))

export function dayOf(text) {
  const t = new Date(text)
  return isToday(t) ? 'Today' : wholeDay.format(t)
}

const isToday = (t) => t.toDateString() === new Date().toDateString()

export const exactly = (text) => moment.format(new Date(text))

// at writes a label of a time axis whose marks are so many seconds apart.
export function at(t, seconds) {
  return seconds >= 86400 ? day.format(t) : clock.format(t).slice(0, 5)
}

// words writes a name with underscores as words.
export const words = (name) => name.replaceAll('_', ' ')

export function lasted(from, to) {
  const seconds = Math.max(0, (new Date(to) - new Date(from)) / 1000)
  if (seconds < 90) return `${whole.format(seconds)} s`
  return seconds < 5400 ? `${whole.format(seconds / 60)} min` : `${tenth.format(seconds / 3600)} h`
}

// steps returns round numbers from low to high, about as many as are wanted.
export function steps(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough) ?? 10 * power
  const out = []
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) out.push(Math.round(v * 1000) / 1000 || 0)
  return out
}

// isWorse says whether a time grew by more than chance does.
export const isWorse = (before, after) => after - before > Math.max(1, before * 0.03)
