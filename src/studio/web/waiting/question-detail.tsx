// A question with everything needed to decide it: its subject, the inputs of the task, and earlier outputs.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { AskingTask } from '../../../journal/state/open-questions.ts'
import type { QuestionView } from '../../api/contract.ts'
import { Fact } from '../parts/status.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { OutputView, ValueView } from '../parts/output-view.tsx'
import { Ago } from '../parts/time.tsx'
import { Link, runPath, shortId } from '../routing/router.tsx'
import { AnswerForm } from './answer-form.tsx'
import { kindTags, kindTitles } from './decision-words.ts'
import { heldAnswers } from './held-answers.ts'
import type { OnceCall } from '../../../journal/entries.ts'
import type { Json } from '../../../journal/json.ts'
import { amount, longTime, plural } from '../../../text/words.ts'
import { Foldable } from '../parts/states.tsx'

interface QuestionDetailProps {
  readonly question: QuestionView
  onAnswered(): void
}

export function QuestionDetail({ question, onAnswered }: QuestionDetailProps): JSX.Element {
  const { kind, runId, crew, task, askedAt, asking } = question
  const asker = asking.at(-1)
  const article = useRef<HTMLElement>(null)
  // the focused form disappeared with the previous question
  useEffect(() => {
    if (document.activeElement === document.body && heldAnswers.peek().length > 0)
      article.current?.focus({ preventScroll: true })
  }, [])
  return (
    <article ref={article} class="question panel" tabIndex={-1} aria-label={kindTitles[kind]}>
      <header class="question-head">
        <span class="status tone-asks">{kindTags[kind]}</span>
        <h2>{kindTitles[kind]}</h2>
        <p class="soft">
          {crew} ·{' '}
          <Link to={runPath(runId, asker?.task ?? task, asker?.runId)}>
            {asking.map((each) => each.task).join(' / ')}
          </Link>
          {asker?.agent !== undefined && <> · {asker.agent}</>} · asked <Ago at={askedAt} />
        </p>
      </header>
      <div class="question-body">
        <section class="question-subject" aria-label="Subject">
          <Subject question={question} />
          {hasMoreText(question) && (
            <Foldable title="Full text">
              <p class="question-text soft">{question.text}</p>
            </Foldable>
          )}
        </section>
        <AnswerForm key={`${runId} ${question.id}`} question={question} onAnswered={onAnswered} />
        <section class="question-context" aria-label="Context">
          {asking.toReversed().map((each, index) => (
            <Context key={each.runId} asking={each} outer={index > 0} />
          ))}
        </section>
      </div>
    </article>
  )
}

/** Whether the text of the question says more than the other parts of the detail. */
function hasMoreText(question: QuestionView): boolean {
  return question.kind === 'doubt' || (question.kind === 'call' && question.earlier.length > 0)
}

function Context({ asking, outer }: { readonly asking: AskingTask; readonly outer: boolean }): JSX.Element {
  const { description, inputs, outputs, crew, task, runId } = asking
  return (
    <div class="context">
      <h3>
        {outer ? 'Part of ' : ''}
        {crew} / {task} <Link to={runPath(runId)}>run {shortId(runId)}</Link>
      </h3>
      {description !== '' && <p class="soft">{description}</p>}
      {Object.keys(inputs).length > 0 && (
        <Foldable title="Inputs" open>
          <JsonTree value={inputs} open={1} />
        </Foldable>
      )}
      {outputs.map(({ task: from, raw }) => (
        <Foldable key={from} title={`Output of ${from}`} open={!outer && raw.length < 1_500}>
          <OutputView raw={raw} />
        </Foldable>
      ))}
    </div>
  )
}

export function Subject({ question }: { readonly question: QuestionView }): JSX.Element {
  switch (question.kind) {
    case 'call':
      return (
        <>
          <Called tool={question.tool} input={question.input} />
          {question.earlier.map((call) => (
            <Earlier key={`${call.key}${call.occurrence}`} call={call} />
          ))}
        </>
      )
    case 'doubt': {
      const { calledAt, owner } = question
      return (
        <>
          <Called tool={question.tool} input={question.input} />
          <dl class="facts">
            <Fact name="Called">
              {longTime(calledAt)} (<Ago at={calledAt} />)
            </Fact>
            <Fact name="By">
              {owner.label === undefined ? '' : `${owner.label}, `}process {owner.pid} on {owner.host.split('/', 1)[0]}
            </Fact>
          </dl>
          <p class="soft">
            The result was never recorded: the process ended, or the call was interrupted, before it could be written.
          </p>
        </>
      )
    }
    case 'result':
      return (
        <>
          {question.round > 1 && (
            <dl class="facts">
              <Fact name="Round">{question.round}</Fact>
            </dl>
          )}
          <div class="subject-value">
            <ValueView value={question.output} />
          </div>
        </>
      )
    case 'limit':
      return <LimitTable limit={question.limit} question={question} />
    case 'value':
      return (
        <>
          <p class="question-text">{question.text}</p>
          {question.about !== undefined && (
            <div class="subject-value">
              <ValueView value={question.about} />
            </div>
          )}
        </>
      )
  }
}

function Called({ tool, input }: { readonly tool: string; readonly input: Json }): JSX.Element {
  return (
    <div class="subject-value">
      <p class="call-name">
        <code>{tool}</code>
      </p>
      <JsonTree value={input} />
    </div>
  )
}

function Earlier({ call }: { readonly call: OnceCall }): JSX.Element {
  const { outcome } = call
  return (
    <div class="subject-value is-earlier">
      <p>
        {outcome === 'unknown' ? 'This call may have been made before' : 'This call was made before'}:{' '}
        {longTime(call.calledAt)}, by task {call.task}
      </p>
      {outcome !== 'unknown' &&
        ('error' in outcome ? <p>It failed: {outcome.error}</p> : <ValueView value={outcome.result} />)}
    </div>
  )
}

interface LimitTableProps {
  readonly limit: Json
  readonly question: QuestionView & { readonly kind: 'limit' }
}

function LimitTable({ limit, question }: LimitTableProps): JSX.Element {
  const { spent } = question
  const tokens = spent.input + spent.output
  const limits = typeof limit === 'object' && limit !== null && !Array.isArray(limit) ? Object.entries(limit) : []
  return (
    <>
      {limits.map(([name, value]) => (
        <div key={name} class="limit">
          <dl class="facts">
            <Fact name={name === 'cost' ? 'Limit in dollars' : `Limit in ${name}`}>{JSON.stringify(value)}</Fact>
          </dl>
          {name === 'tokens' && typeof value === 'number' && (
            <meter min={0} max={Math.max(value, tokens)} high={value} value={tokens} aria-label="Tokens spent" />
          )}
        </div>
      ))}
      <dl class="facts">
        <Fact name="Spent so far">
          {amount(tokens)} tokens ({amount(spent.input)} in, {amount(spent.output)} out) in{' '}
          {plural(spent.calls, 'model call')}
        </Fact>
      </dl>
    </>
  )
}
