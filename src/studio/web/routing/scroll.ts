// How far a place was scrolled, kept in its entry of the history, so that Back leads to where one was. The browser's
// own memory comes too early: the list that is to be scrolled is not there yet.

const pauseMs = 150
/** A list that is read again may take a moment; after that, the reader decides. */
const patienceMs = 3_000
const inputs = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

let saving: ReturnType<typeof setTimeout> | undefined
let restoring = false

/** Call it once, for the whole window. */
export function keepScroll(): void {
  history.scrollRestoration = 'manual'
  addEventListener('scroll', () => {
    if (restoring) return
    clearTimeout(saving)
    saving = setTimeout(saveScroll, pauseMs)
  })
}

/** Before another place is opened. */
export function saveScroll(): void {
  clearTimeout(saving)
  history.replaceState({ scroll: scrollY }, '')
}

/** Scrolls to where the current entry of the history was left, as soon as the page is that high again. */
export function restoreScroll(): void {
  clearTimeout(saving)
  const { scroll = 0 } = (history.state as { readonly scroll?: number } | null) ?? {}
  const until = performance.now() + patienceMs
  restoring = true
  const end = (): void => {
    restoring = false
    for (const name of inputs) removeEventListener(name, end)
  }
  for (const name of inputs) addEventListener(name, end, { passive: true })
  const step = (): void => {
    if (!restoring) return
    scrollTo(0, scroll)
    if (Math.abs(scrollY - scroll) < 1 || performance.now() > until) end()
    else requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
}
