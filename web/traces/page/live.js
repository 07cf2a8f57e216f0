// Looking for news: often while there is some, seldom while there is none or the service does not answer, and not at all while nobody looks
// at the page.

const often = 2000
const seldom = 10000
const rarely = 30000

// live calls look, which says whether there was news, again and again until stopped. wanted says whether to.
export function live(look, wanted) {
  let wait = often
  let timer = 0
  let stopped = false
  let busy = false

  async function turn() {
    if (busy || stopped) return
    busy = true
    try {
      if (wanted()) wait = (await look()) ? often : Math.min(wait * 1.25, seldom)
    } catch (error) {
      wait = Math.min(wait * 2, rarely)
    }
    busy = false
    plan()
  }

  function plan() {
    clearTimeout(timer)
    if (!stopped && !document.hidden) timer = setTimeout(turn, wait)
  }

  function seen() {
    clearTimeout(timer)
    if (!document.hidden && wanted()) {
      wait = often
      turn()
    }
  }
  document.addEventListener('visibilitychange', seen)
  plan()
  return {
    again: seen,
    stop() {
      stopped = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', seen)
    },
  }
}
