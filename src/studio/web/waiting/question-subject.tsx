// What a question is about, by its kind: a call and its arguments, a call in doubt and since when, a result, a limit.
import type { ComponentChildren, JSX } from 'preact'
import type { OnceCall } from '../../../journal/entries.ts'
import type { Json } from '../../../journal/json.ts'
import { amount, longTime, plural } from '../../../text/words.ts'
import type { QuestionView } from '../../api/contract.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { ValueView } from '../parts/output-view.tsx'
import { Ago } from '../parts/time.tsx'

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
          <Fact name="Called">
            {longTime(calledAt)} (<Ago at={calledAt} />)
          </Fact>
          <Fact name="By">
            {owner.label === undefined ? '' : `${owner.label}, `}process {owner.pid} on {owner.host.split('/', 1)[0]}
          </Fact>
          <Fact name="In doubt">
            Nobody recorded how the call ended: the process was gone, or the call was cut off, before its result was
            written.
          </Fact>
        </>
      )
    }
    case 'result':
      return (
        <>
          {question.round > 1 && <Fact name="Round">{question.round}</Fact>}
          <div class="subject-value">
            <ValueView value={question.output} />
          </div>
        </>
      )
    case 'limit':
      return <LimitTable limit={question.limit} question={question} />
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
        {outcome === 'unknown' ? 'The same call may have been made before' : 'The same call was made before'}:{' '}
        {longTime(call.calledAt)}, by task {call.task}
      </p>
      {outcome !== 'unknown' &&
        ('error' in outcome ? <p>It failed: {outcome.error}</p> : <ValueView value={outcome.result} />)}
    </div>
  )
}

function LimitTable({
  limit,
  question,
}: {
  readonly limit: Json
  readonly question: QuestionView & { readonly kind: 'limit' }
}): JSX.Element {
  const { spent } = question
  const tokens = spent.input + spent.output
  const limits = typeof limit === 'object' && limit !== null && !Array.isArray(limit) ? Object.entries(limit) : []
  return (
    <>
      {limits.map(([name, value]) => (
        <div key={name} class="limit">
          <Fact name={name === 'cost' ? 'Limit in dollars' : `Limit in ${name}`}>{JSON.stringify(value)}</Fact>
          {name === 'tokens' && typeof value === 'number' && (
            <meter min={0} max={Math.max(value, tokens)} high={value} value={tokens} aria-label="Tokens spent" />
          )}
        </div>
      ))}
      <Fact name="Spent so far">
        {amount(tokens)} tokens ({amount(spent.input)} in, {amount(spent.output)} out) in{' '}
        {plural(spent.calls, 'model call')}
      </Fact>
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="fact">
      <span class="faint">{name}</span> <span>{children}</span>
    </p>
  )
}
