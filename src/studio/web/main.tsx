// The entry point of the page: the frame around every view, and the view for each address. Waiting and Runs are part of
// the first load; the other views are loaded on demand.
import { type ComponentType, type JSX, render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from './api/client.ts'
import { connected, followChanges } from './api/listen.ts'
import { openSession, session, sessionError } from './api/studio-session.ts'
import { useResource, type Resource } from './api/resource.ts'
import type { Questions } from '../api/contract.ts'
import { useShortcuts, groups, listenToKeys } from './keys/shortcuts.ts'
import { Notices } from './parts/notices.tsx'
import { Empty, Failed, Loading } from './parts/states.tsx'
import { Link, navigate, currentLocation, startRouter } from './routing/router.tsx'
import { RunsPage } from './runs/runs-page.tsx'
import { Side, toggleTheme } from './side.tsx'
import { Unlock } from './unlock.tsx'
import { isHeld, settleAnswers, sendHeldOnLeaving } from './waiting/held-answers.ts'
import { HeldAnswers, AnsweredRuns } from './waiting/answer-notices.tsx'
import { WaitingPage } from './waiting/waiting-page.tsx'
import { Dialog } from './parts/dialog.tsx'
import { startClock } from './parts/time.tsx'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/waiting.css'
import './styles/runs.css'

const lazyPages = {
  run: () => import('./run/run-page.tsx').then(({ RunPage }) => RunPage as ComponentType<object>),
  compare: () => import('./compare/compare-page.tsx').then(({ ComparePage }) => ComparePage as ComponentType<object>),
  crews: () => import('./crews/crews-page.tsx').then(({ CrewsPage }) => CrewsPage as ComponentType<object>),
  crew: () => import('./crews/crew-page.tsx').then(({ CrewPage }) => CrewPage as ComponentType<object>),
}
type LazyPage = keyof typeof lazyPages

function App(): JSX.Element {
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
  const loaded = useResource('questions', (signal) => call('GET /questions', { signal }))
  useEffect(() => settleAnswers(loaded.value?.questions ?? []), [loaded.value])
  const questions = { ...loaded, value: loaded.value && withoutHeld(loaded.value) }
  const { parts } = currentLocation.value
  const view = parts.join('/')
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // not in App: before the session the stream would be refused, and a refused stream isn't retried
  useEffect(followChanges, [])

  useShortcuts('Everywhere', [
    { keys: '?', does: 'Show shortcuts', run: () => setHelp(true) },
    { keys: 'g w', does: 'Go to Waiting', run: () => navigate('/') },
    { keys: 'g r', does: 'Go to Runs', run: () => navigate('/runs') },
    { keys: 'g c', does: 'Go to Crews', run: () => navigate('/crews') },
    { keys: 'g d', does: 'Go to Compare', run: () => navigate('/compare') },
    { keys: 't', does: 'Toggle theme', run: toggleTheme },
  ])
  useEffect(() => {
    // a new view starts at its top, also for screen readers and the Tab key
    if (isFirst.current) isFirst.current = false
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
        Skip to content
      </a>
      <Side waiting={questions.value?.questions.length} showHelp={() => setHelp(true)} />
      <div>
        {connected.value === false && (
          <p class="lost-bar" role="status">
            Connection lost. This page may be out of date until the server is back.
          </p>
        )}
        <main ref={main} class="main" id="main" tabIndex={-1}>
          <View questions={questions} />
        </main>
      </div>
      <Notices>
        <HeldAnswers />
        <AnsweredRuns />
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
    <Empty whole title="Page not found">
      Go to <Link to="/">Waiting</Link> or <Link to="/runs">Runs</Link>.
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
    load().catch(() => void diagnose(new Error('couldn’t load this view; reload the page')))
  }, [page])
  // the browser reports only that the file is missing; usually the server has stopped or was updated
  const diagnose = async (fallback?: Error): Promise<void> => {
    try {
      await call('GET /studio')
    } catch (problem) {
      return setError(problem)
    }
    if (fallback) setError(fallback)
    else location.reload()
  }
  if (Page) return <Page />
  if (error !== undefined) return <Failed error={error} again={() => void diagnose()} />
  return <Loading what="this view" />
}

function pageTitle(parts: readonly string[]): string {
  const [first, second] = parts
  const name = first === undefined ? 'Waiting' : (second ?? first.charAt(0).toUpperCase() + first.slice(1))
  return `${name} · Reprise studio`
}

function Help({ onClose }: { onClose(): void }): JSX.Element {
  return (
    <Dialog title="Shortcuts" onClose={onClose} wide>
      <div class="keys">
        {groups.value.map(({ title, shortcuts }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.flatMap(({ keys, does }) => [
                <dt key={keys}>
                  {keys.split(/[ +]/).map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>,
                <dd key={`${keys} does`}>{does}</dd>,
              ])}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

startRouter()
startClock()
listenToKeys()
sendHeldOnLeaving()
const app = document.getElementById('app')
if (app) render(<App />, app)
void openSession()
