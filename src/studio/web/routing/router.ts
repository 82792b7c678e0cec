// Where the page is: the address, as a signal. Addresses are below the path that the studio is mounted at, which the
// document's base says; the rest of the page only knows paths like `/runs/claim-1`.
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { keepScroll, restoreScroll, saveScroll } from './scroll.ts'
import { parseLocation, toUrl, type Location } from './location.ts'

const base = (): string => new URL('.', document.baseURI).pathname.replace(/\/$/, '')

const address = signal('')

export const currentLocation: ReadonlySignal<Location> = computed(() => parseLocation(address.value))

/** Follows the address of the window from now on. */
export function startRouter(): void {
  const read = (): void => {
    address.value = location.pathname.slice(base().length) + location.search
  }
  read()
  keepScroll()
  restoreScroll()
  addEventListener('popstate', () => {
    read()
    restoreScroll()
  })
}

/** What a link to a path has as its address. */
export function href(path: string): string {
  return `${base()}${path}`
}

export function navigate(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (path === address.peek()) return
  const before = parseLocation(address.peek())
  saveScroll()
  if (replace) history.replaceState(history.state, '', href(path))
  else history.pushState(null, '', href(path))
  address.value = path
  // another view begins at its top; another step of the same run leaves the page where it is
  if (before.parts.join('/') !== parseLocation(path).parts.join('/')) scrollTo(0, 0)
}

/** The same place with other parameters; undefined takes one away. */
export function withQuery(changes: { readonly [name: string]: string | undefined }): string {
  const url = toUrl(address.peek())
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  return url.pathname + url.search
}

/** The page of a run. `at` is chosen in it, or in the run `of` a crew that works for it. */
export function runPath(runId: string, at?: string, of: string = runId): string {
  // ids of such runs have slashes and hashes in them
  const path = `/runs/${encodeURIComponent(runId)}`
  if (at === undefined) return path
  const within = of === runId ? '' : `in=${encodeURIComponent(of.slice(runId.length + 1))}&`
  return `${path}?${within}at=${encodeURIComponent(at)}`
}
