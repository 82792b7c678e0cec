// The open questions of all runs, longest waiting first, with the selected question beside the list. On a phone, the
// list and the question are separate screens.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { QuestionView, Questions } from '../../api/contract.ts'
import type { Resource } from '../api/resource.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { plainText } from '../parts/markdown-blocks.ts'
import { Empty, Loaded } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { Link, navigate, currentLocation, runPath, questionKey, questionPath, shortId } from '../routing/router.tsx'
import { kindTags } from './decision-words.ts'
import { QuestionDetail } from './question-detail.tsx'

export function WaitingPage({ questions }: { readonly questions: Resource<Questions> }): JSX.Element {
  return (
    <Loaded from={questions} what="questions">
      {(value) => <Waiting {...value} />}
    </Loaded>
  )
}

function Waiting({ questions, unreadable }: Questions): JSX.Element {
  const named = currentLocation.value.query.get('question')
  const chosen = questions.findIndex((question) => questionKey(question) === named)
  const current = Math.max(0, chosen)
  const list = useRef<HTMLUListElement>(null)
  const position = useRef(current)
  if (chosen >= 0) position.current = chosen

  const choose = (index: number, replace = true): void => {
    const question = questions[Math.max(0, Math.min(questions.length - 1, index))]
    if (question) navigate(questionPath(question), { replace })
  }
  useShortcuts('Waiting', [
    { keys: 'j', does: 'Next question', run: () => choose(current + 1) },
    { keys: 'k', does: 'Previous question', run: () => choose(current - 1) },
    {
      keys: 'o',
      does: 'Open the run',
      run: () => questions[current] && navigate(runPath(questions[current].runId, questions[current].task)),
    },
  ])
  useEffect(() => {
    list.current?.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' })
  }, [current])
  // when the selected question was answered, here or elsewhere, selects the next one
  useEffect(() => {
    if (named !== null && chosen < 0 && questions.length > 0) choose(Math.min(position.current, questions.length - 1))
    else if (named !== null && questions.length === 0) navigate('/', { replace: true })
  }, [named, chosen, questions.length])

  const question = questions[current]
  // the focused form disappeared with the last question
  useEffect(() => {
    if (!question && document.activeElement === document.body) document.getElementById('main')?.focus()
  }, [question])
  return (
    <div class={`page waiting ${named === null ? '' : 'has-chosen'}`}>
      <div class="page-head">
        <h1>Waiting for you</h1>
        {questions.length > 0 && <span class="soft">{questions.length} open</span>}
      </div>
      {unreadable.length > 0 && (
        <p class="problem">
          Can’t read the questions of {unreadable.join(', ')}. Run <code>npx reprise doctor</code> for the reason.
        </p>
      )}
      {question ? (
        <div class="waiting-columns">
          <ul ref={list} class="question-list" aria-label="Open questions">
            {questions.map((each) => (
              <li key={questionKey(each)}>
                <QuestionCard question={each} current={each === question} />
              </li>
            ))}
          </ul>
          <div class="question-place">
            <Link to="/" class="back">
              ‹ All questions
            </Link>
            <QuestionDetail key={questionKey(question)} question={question} onAnswered={() => {}} />
          </div>
        </div>
      ) : (
        <Empty title="Nothing is waiting for you">
          Approvals, reviews, calls in doubt and reached limits appear here, for all runs.{' '}
          <Link to="/runs">All runs</Link>
        </Empty>
      )}
    </div>
  )
}

interface QuestionCardProps {
  readonly question: QuestionView
  readonly current: boolean
}

function QuestionCard({ question, current }: QuestionCardProps): JSX.Element {
  const { kind, crew, task, runId, askedAt } = question
  return (
    <Link to={questionPath(question)} class="card question-card" aria-current={current ? 'true' : undefined}>
      <span class="card-top">
        <span class="status tone-asks">{kindTags[kind]}</span>
        <span class="faint">
          <Ago at={askedAt} />
        </span>
      </span>
      <span class="card-title">{cardTitle(question)}</span>
      <span class="faint clip">
        {shortId(runId)} · {crew} · {task}
      </span>
    </Link>
  )
}

function cardTitle(question: QuestionView): string {
  switch (question.kind) {
    case 'call':
    case 'doubt':
      return `${question.tool}(${oneLine(question.input)})`
    case 'result':
      return typeof question.output === 'string' ? plainText(question.output) : oneLine(question.output)
    case 'limit':
      return `Limit: ${oneLine(question.limit)}`
    case 'value':
      return question.text
  }
}

function oneLine(value: unknown): string {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([key, member]) => `${key}: ${typeof member === 'object' ? JSON.stringify(member) : String(member)}`)
      .join(', ')
  return String(value)
}
