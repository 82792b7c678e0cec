// One question with everything that is needed to decide it in sight: what it is about, what the task was given, and what
// came before.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { AskingTask } from '../../../journal/state/open-questions.ts'
import type { QuestionView } from '../../api/contract.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { OutputView } from '../parts/output-view.tsx'
import { Ago } from '../parts/time.tsx'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { AnswerForm } from './answer-form.tsx'
import { kindTags, kindWords } from './decision-words.ts'
import { heldAnswers } from './held-answers.ts'
import { Subject } from './question-subject.tsx'
import { shortId } from './short-id.ts'

export function QuestionDetail({
  question,
  onAnswered,
}: {
  readonly question: QuestionView
  onAnswered(): void
}): JSX.Element {
  const { kind, runId, crew, task, askedAt, asking } = question
  const asker = asking.at(-1)
  const article = useRef<HTMLElement>(null)
  // the focus was in the form of the question before, which is gone
  useEffect(() => {
    if (document.activeElement === document.body && heldAnswers.peek().length > 0)
      article.current?.focus({ preventScroll: true })
  }, [])
  return (
    <article ref={article} class="question panel" tabIndex={-1} aria-label={kindWords[kind]}>
      <header class="question-head">
        <span class="status tone-asks">{kindTags[kind]}</span>
        <h2>{kindWords[kind]}</h2>
        <p class="soft">
          {crew} ·{' '}
          <Link to={runPath(runId, asker?.task ?? task, asker?.runId)}>
            {asking.map((each) => each.task).join(' / ')}
          </Link>
          {asker?.agent !== undefined && <> · {asker.agent}</>} · asked <Ago at={askedAt} />
        </p>
      </header>
      <div class="question-body">
        <section class="question-subject" aria-label="What it is about">
          <Subject question={question} />
          {saysMore(question) && (
            <details class="foldable">
              <summary>In full</summary>
              <p class="question-text soft">{question.text}</p>
            </details>
          )}
        </section>
        <AnswerForm key={`${runId} ${question.id}`} question={question} onAnswered={onAnswered} />
        <section class="question-context" aria-label="What the task was given">
          {asking.toReversed().map((each, index) => (
            <Context key={each.runId} asking={each} outer={index > 0} />
          ))}
        </section>
      </div>
    </article>
  )
}

/** The words of most questions only repeat what is shown better; of a doubt they say how it came to it. */
function saysMore(question: QuestionView): boolean {
  return question.kind === 'doubt' || (question.kind === 'call' && question.earlier.length > 0)
}

function Context({ asking, outer }: { readonly asking: AskingTask; readonly outer: boolean }): JSX.Element {
  const { description, inputs, outputs, crew, task, runId } = asking
  return (
    <div class="context">
      <h3>
        {outer ? 'part of ' : ''}
        {crew} / {task} <Link to={runPath(runId)}>run {shortId(runId)}</Link>
      </h3>
      {description !== '' && <p class="soft">{description}</p>}
      {Object.keys(inputs).length > 0 && (
        <details class="foldable" open>
          <summary>Inputs</summary>
          <JsonTree value={inputs} open={1} />
        </details>
      )}
      {outputs.map(({ task: from, raw }) => (
        <details key={from} class="foldable" open={!outer && raw.length < 1_500}>
          <summary>Output of {from}</summary>
          <OutputView raw={raw} />
        </details>
      ))}
    </div>
  )
}
