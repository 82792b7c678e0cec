// The transcript of a conversation, over all of its runs: what was said, by whom and when, what became of each turn, and
// a box to say something. Read in pages from the newest turn back.
import type { ComponentChildren, JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Transcript, TranscriptTurn } from '../../../runs/transcript.ts'
import type { RunDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { changes } from '../api/listen.ts'
import { useAction, useResource } from '../api/resource.ts'
import { mayAct, signed } from '../api/studio-session.ts'
import { Icon } from '../parts/icons.tsx'
import { OutputView } from '../parts/output-view.tsx'
import { Failed, Loading, sentence } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { Link, questionPath, runPath } from '../routing/router.tsx'
import type { LiveRun } from './live-run.ts'

interface TranscriptProps {
  readonly run: LiveRun
  readonly detail: RunDetail
}

export function TranscriptTab({ run, detail: { runId } }: TranscriptProps): JSX.Element {
  const [before, setBefore] = useState<number | undefined>(undefined)
  const { value, error, again } = useResource(`transcript of ${runId} before ${before}`, (signal) =>
    call('GET /runs/{run}/transcript', {
      params: { run: runId },
      query: before === undefined ? {} : { before },
      signal,
    }),
  )
  if (!value) return error === undefined ? <Loading what="the transcript" /> : <Failed error={error} again={again} />
  const { turns, newest, before: earlier } = value
  return (
    <section class="transcript" aria-label="Conversation">
      {(earlier !== undefined || before !== undefined) && (
        <div class="pager">
          <button type="button" class="quiet" disabled={earlier === undefined} onClick={() => setBefore(earlier)}>
            Earlier turns
          </button>
          <span class="number faint">{rangeWords(value)}</span>
          <button type="button" class="quiet" disabled={before === undefined} onClick={() => setBefore(undefined)}>
            Newest turns
          </button>
        </div>
      )}
      {/* a screen reader reads what is added */}
      <div role="log" aria-label="Messages">
        <ol class="messages">
          {turns.map((turn) => (
            <TurnMessages key={turn.id} turn={turn} newest={newest} run={run} />
          ))}
        </ol>
      </div>
      {turns.length === 0 && <p class="soft">Nothing has been said yet.</p>}
      {before === undefined && mayAct() && <MessageForm transcript={value} />}
    </section>
  )
}

function rangeWords({ turns }: Transcript): string {
  const [first, last] = [turns[0]?.turn, turns.findLast(({ turn }) => turn !== undefined)?.turn]
  return first === undefined ? '' : `Turns ${first} to ${last}`
}

interface TurnProps {
  readonly turn: TranscriptTurn
  readonly newest: string
  readonly run: LiveRun
}

function TurnMessages({ turn, newest, run }: TurnProps): JSX.Element {
  const { text, by, at, answer, answeredAt, step } = turn
  const steps = step !== undefined && (
    <Link to={`${runPath(turn.run, step)}&tab=timeline`}>Steps of turn {turn.turn}</Link>
  )
  return (
    <>
      <Said by={by ?? 'User'} at={at} tone="user">
        <OutputView raw={text} />
      </Said>
      <Said by="Assistant" at={answer === undefined ? undefined : answeredAt} tone="model" more={steps}>
        {answer === undefined ? <TurnState turn={turn} newest={newest} run={run} /> : <OutputView raw={answer} />}
      </Said>
    </>
  )
}

interface SaidProps {
  readonly by: string
  readonly at: string | undefined
  readonly tone: 'user' | 'model'
  readonly more?: ComponentChildren
  readonly children: ComponentChildren
}

function Said({ by, at, tone, more, children }: SaidProps): JSX.Element {
  return (
    <li class={`message is-${tone}`}>
      <p class="message-by">
        {by} {at !== undefined && <Ago at={at} />} {more}
      </p>
      {children}
    </li>
  )
}

function TurnState({ turn, newest, run }: TurnProps): JSX.Element {
  const { status, step, error, questions } = turn
  switch (status) {
    case 'failed':
      return <p class="problem">Failed: {error}</p>
    case 'stopped':
      return <p class="soft">Stopped before it was answered.</p>
    case 'queued':
      return <p class="soft">Not begun yet.</p>
    case 'waiting':
      return (
        <ul class="turn-questions">
          {questions.map(({ id, text }) => (
            <li key={id}>
              <Icon name="hand" size={14} /> Waits for a person:{' '}
              <Link to={questionPath({ runId: newest, id })}>{sentence(text)}</Link>
            </li>
          ))}
        </ul>
      )
    default:
      return streamedText(run, step) === '' ? (
        <p class="soft">Answering …</p>
      ) : (
        <OutputView raw={streamedText(run, step)} />
      )
  }
}

/** The words of an answer that have arrived so far, if this studio executes the turn. */
function streamedText(run: LiveRun, step: string | undefined): string {
  for (const [path, { text }] of run.streamed.value) if (path.startsWith(`${step}#`)) return text
  return ''
}

function MessageForm({ transcript: { id, newest, turns } }: { readonly transcript: Transcript }): JSX.Element {
  const field = useId()
  const [text, setText] = useState('')
  const { busy, problem, attempt } = useAction()
  const current = turns.find(({ status }) => status === 'running' || status === 'waiting')?.turn
  const send = (event: { readonly name: string; readonly value: string | { turn: number }; readonly id?: string }) =>
    attempt(async () => {
      await call('POST /runs/{run}/events', { params: { run: newest }, body: { ...event, ...signed() } })
      if (event.name === 'message') setText('')
      changes.value++
    })
  const say = (): void => {
    if (!busy && text.trim() !== '') void send({ name: 'message', value: text })
  }
  return (
    <form
      class="say"
      onSubmit={(event) => {
        event.preventDefault()
        say()
      }}
    >
      <label for={field}>Message to {id}</label>
      <textarea
        id={field}
        rows={2}
        value={text}
        aria-keyshortcuts="Control+Enter"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) say()
        }}
      />
      <div class="say-end">
        <p class="problem" role="alert">
          {problem}
        </p>
        {current !== undefined && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void send({ name: 'stop', value: { turn: current }, id: `stop ${current}` })}
          >
            Stop
          </button>
        )}
        <button type="submit" class="primary" disabled={busy || text.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  )
}
