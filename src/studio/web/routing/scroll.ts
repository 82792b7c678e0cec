// Restores the scroll position on Back and Forward, from the history entry. The browser would do so too early, before
// the list is loaded.

const pauseMs = 150
/** How long a list may take to load before restoring is given up. */
const patienceMs = 3_000
const inputs = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

let saving: ReturnType<typeof setTimeout> | undefined
let restoring = false

/** Call it once per window. */
export function keepScroll(): void {
  history.scrollRestoration = 'manual'
  addEventListener('scroll', () => {
    if (restoring) return
    clearTimeout(saving)
    saving = setTimeout(saveScroll, pauseMs)
  })
}

/** Call it before navigating. */
export function saveScroll(): void {
  clearTimeout(saving)
  history.replaceState({ scroll: scrollY }, '')
}

/** Scrolls to the stored position of the current history entry as soon as the page is high enough. */
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
