// The frame around every view, and which view an address means. The views that most people open first come with the
// page; the others are fetched when they are needed.
import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from './api/client.ts'
import { connected, followChanges } from './api/changes.ts'
import { openSession, session, sessionError } from './api/studio-session.ts'
import { useResource, type Resource } from './api/resource.ts'
import type { Questions } from '../api/contract.ts'
import { Help } from './keys/help.tsx'
import { useShortcuts } from './keys/shortcuts.ts'
import { Notices } from './parts/notices.tsx'
import { Empty, Failed, Loading } from './parts/states.tsx'
import { Link } from './routing/link.tsx'
import { navigate, currentLocation } from './routing/router.ts'
import { RunsPage } from './runs/runs-page.tsx'
import { Side, toggleTheme } from './side.tsx'
import { Unlock } from './unlock.tsx'
import { isHeld, settleAnswers } from './waiting/held-answers.ts'
import { HeldList } from './waiting/held-list.tsx'
import { LeftToWorkers } from './waiting/left-to-workers.tsx'
import { WaitingPage } from './waiting/waiting-page.tsx'

const lazyPages = {
  run: () => import('./run/run-page.tsx').then(({ RunPage }) => RunPage as ComponentType<object>),
  compare: () => import('./compare/compare-page.tsx').then(({ ComparePage }) => ComparePage as ComponentType<object>),
  crews: () => import('./crews/crews-page.tsx').then(({ CrewsPage }) => CrewsPage as ComponentType<object>),
  crew: () => import('./crews/crew-page.tsx').then(({ CrewPage }) => CrewPage as ComponentType<object>),
}
type LazyPage = keyof typeof lazyPages

export function App(): JSX.Element {
  const { value } = session
  if (value === undefined)
    return sessionError.value === undefined ? (
      <Loading what="the studio" />
    ) : (
      <Failed error={sessionError.value} again={() => void openSession()} />
    )
  return value === 'locked' ? <Unlock /> : <Shell />
}

function Shell(): JSX.Element {
  const [help, setHelp] = useState(false)
  const asked = useResource('questions', (signal) => call('GET /questions', { signal }))
  useEffect(() => settleAnswers(asked.value?.questions ?? []), [asked.value])
  const questions = { ...asked, value: asked.value && withoutHeld(asked.value) }
  const { parts } = currentLocation.value
  const view = parts.join('/')
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  // not before: without a token it would be refused, and not tried again
  useEffect(followChanges, [])

  useShortcuts('Everywhere', [
    { keys: '?', does: 'Show the keys', run: () => setHelp(true) },
    { keys: 'g w', does: 'Go to what waits for you', run: () => navigate('/') },
    { keys: 'g r', does: 'Go to runs', run: () => navigate('/runs') },
    { keys: 'g c', does: 'Go to crews', run: () => navigate('/crews') },
    { keys: 'g d', does: 'Go to compare', run: () => navigate('/compare') },
    { keys: 't', does: 'Light or dark', run: toggleTheme },
  ])
  useEffect(() => {
    // another view begins at its beginning, for screen readers and the Tab key, too
    if (first.current) first.current = false
    else main.current?.focus({ preventScroll: true })
    document.title = pageTitle(parts)
  }, [view])

  return (
    <div class="shell">
      <a
        class="skip"
        href={`${location.pathname}${location.search}#main`}
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to the content
      </a>
      <Side waiting={questions.value?.questions.length} showHelp={() => setHelp(true)} />
      <div>
        {connected.value === false && (
          <p class="lost-bar" role="status">
            The connection is lost. What you see may be old; it catches up as soon as the server is back.
          </p>
        )}
        <main ref={main} class="main" id="main" tabIndex={-1}>
          <View questions={questions} />
        </main>
      </div>
      <Notices>
        <HeldList />
        <LeftToWorkers />
      </Notices>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  )
}

function withoutHeld({ questions, ...rest }: Questions): Questions {
  return { ...rest, questions: questions.filter((question) => !isHeld(question)) }
}

function View({ questions }: { readonly questions: Resource<Questions> }): JSX.Element {
  const [first, second] = currentLocation.value.parts
  if (first === undefined) return <WaitingPage questions={questions} />
  if (first === 'runs') return second === undefined ? <RunsPage /> : <Lazy page="run" />
  if (first === 'compare') return <Lazy page="compare" />
  if (first === 'crews') return <Lazy page={second === undefined ? 'crews' : 'crew'} />
  return (
    <Empty whole title="There is nothing at this address">
      <Link to="/">What waits for you</Link> or <Link to="/runs">the runs</Link>
    </Empty>
  )
}

const loadedPages = new Map<LazyPage, ComponentType<object>>()

function Lazy({ page }: { readonly page: LazyPage }): JSX.Element {
  const [, setLoaded] = useState<LazyPage>()
  const [error, setError] = useState<unknown>()
  const Page = loadedPages.get(page)
  useEffect(() => {
    if (loadedPages.has(page)) return
    setError(undefined)
    const load = async (): Promise<void> => {
      loadedPages.set(page, await lazyPages[page]())
      setLoaded(page)
    }
    load().catch(() => void explain(new Error('this view could not be loaded; reload the page')))
  }, [page])
  // a browser only says which file it did not get: most often the server is gone, or has been updated
  const explain = async (otherwise?: Error): Promise<void> => {
    try {
      await call('GET /studio')
    } catch (problem) {
      return setError(problem)
    }
    if (otherwise) setError(otherwise)
    else location.reload()
  }
  if (Page) return <Page />
  if (error !== undefined) return <Failed error={error} again={() => void explain()} />
  return <Loading what="this view" />
}

function pageTitle(parts: readonly string[]): string {
  const [first, second] = parts
  const name = first === undefined ? 'Waiting for you' : (second ?? first.charAt(0).toUpperCase() + first.slice(1))
  return `${name} · Reprise studio`
}
