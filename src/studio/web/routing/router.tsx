// The address of the page as a signal, links, and the addresses of runs and questions. The rest of the page uses paths
// such as `/runs/claim-1`, relative to the path where the studio is mounted (the document's base).
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { parseLocation, toUrl, type Location } from './location.ts'
import type { ComponentChildren, JSX } from 'preact'
import type { QuestionView } from '../../api/contract.ts'

const base = (): string => new URL('.', document.baseURI).pathname.replace(/\/$/, '')

const address = signal('')

export const currentLocation: ReadonlySignal<Location> = computed(() => parseLocation(address.value))

/** Call it once per window. */
export function startRouter(): void {
  const read = (): void => {
    address.value = location.pathname.slice(base().length) + location.search
  }
  read()
  trackScroll()
  restoreScroll()
  addEventListener('popstate', () => {
    read()
    restoreScroll()
  })
}

/** Converts a path to a href. */
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
  // a new view starts at its top; another selection in the same view keeps the position
  if (before.parts.join('/') !== parseLocation(path).parts.join('/')) scrollTo(0, 0)
}

/** The current path with changed query parameters. Undefined removes a parameter. */
export function withQuery(changes: { readonly [name: string]: string | undefined }): string {
  const url = toUrl(address.peek())
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  return url.pathname + url.search
}

/** The path of a run's page, with `at` selected: in the run itself, or in its child run `of`. */
export function runPath(runId: string, at?: string, of: string = runId): string {
  // ids of child runs contain slashes and hashes
  const path = `/runs/${encodeURIComponent(runId)}`
  if (at === undefined) return path
  const within = of === runId ? '' : `in=${encodeURIComponent(of.slice(runId.length + 1))}&`
  return `${path}?${within}at=${encodeURIComponent(at)}`
}

export function crewPath(crew: string): string {
  return `/crews/${encodeURIComponent(crew)}`
}

export function comparePath(a: string, b: string): string {
  return `/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`
}

interface LinkProps {
  readonly class?: string
  readonly style?: { readonly [property: string]: string }
  readonly 'aria-current'?: 'page' | 'true' | undefined
  readonly to: string
  readonly replace?: boolean
  readonly children?: ComponentChildren
}

/** A link within the page. It is a real link, so that it can be copied or opened in a new tab. */
export function Link({ to, replace = false, children, ...rest }: LinkProps): JSX.Element {
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to, { replace })
  }
  return (
    <a {...rest} href={href(to)} onClick={follow}>
      {children}
    </a>
  )
}

interface LinksProps extends Pick<LinkProps, 'replace'> {
  readonly names: readonly string[]
  to(name: string): string
}

/** Links by name, separated by commas. */
export function Links({ names, to, replace = false }: LinksProps): JSX.Element {
  const links = names.flatMap((name) => [
    ', ',
    <Link key={name} to={to(name)} replace={replace}>
      {name}
    </Link>,
  ])
  return <>{links.slice(1)}</>
}

/** The selection on a run's page. In the address, `in` is the child run, relative to the run of the page. */
export interface Selection {
  /** The run of the page, or a child run. */
  readonly run: string
  /** A task, or the path of an attempt or step. */
  readonly at: string
}

export function readSelection(runId: string, query: URLSearchParams): Selection | undefined {
  const [at, within] = [query.get('at'), query.get('in')]
  if (at === null) return undefined
  return { run: within === null ? runId : `${runId}/${within}`, at }
}

/** The path of the current page with another selection, or with none. */
export function selectionPath(chosen: Selection | undefined): string {
  const runId = currentLocation.peek().parts[1] ?? ''
  const within = chosen && chosen.run !== runId ? chosen.run.slice(runId.length + 1) : undefined
  return withQuery({ in: within, at: chosen?.at })
}

type QuestionId = Pick<QuestionView, 'runId' | 'id'>

export function questionKey({ runId, id }: QuestionId): string {
  return `${runId} ${id}`
}

export function questionPath(question: QuestionId): string {
  return `/?question=${encodeURIComponent(questionKey(question))}`
}

/**
 * Shortens a generated id (a UUID) to its start, which is distinctive enough, and keeps what follows it, such as the
 * path of a child run. Other ids stay whole.
 */
export function shortId(runId: string): string {
  return runId.length > 14 && /^[0-9a-f]{8}-/.test(runId) ? `${runId.slice(0, 13)}…${runId.slice(36)}` : runId
}

// Scroll positions: stored in the history entry, and restored on Back and Forward. The browser would restore them too
// early, before the list is loaded.

const pauseMs = 150
/** How long a list may take to load before the position is given up. */
const patienceMs = 3_000
const inputs = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

let saving: ReturnType<typeof setTimeout> | undefined
let restoring = false

function trackScroll(): void {
  history.scrollRestoration = 'manual'
  addEventListener('scroll', () => {
    if (restoring) return
    clearTimeout(saving)
    saving = setTimeout(saveScroll, pauseMs)
  })
}

/** Call it before navigating. */
function saveScroll(): void {
  clearTimeout(saving)
  history.replaceState({ scroll: scrollY }, '')
}

/** Scrolls to the stored position as soon as the page is long enough, unless the user acts first. */
function restoreScroll(): void {
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
