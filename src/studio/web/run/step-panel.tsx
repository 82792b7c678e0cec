// The details of a step: a model call with its request and its reply or error, or a tool call with its arguments and
// result.
import type { JSX } from 'preact'
import { attemptsOnPath, taskInPath } from '../../../journal/paths.ts'
import { dollars, preciseDuration, longTime } from '../../../text/words.ts'
import type { ModelStep, RunDetail, StepView, ToolStep } from '../../api/contract.ts'
import { ApiError, call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { ValueView } from '../parts/output-view.tsx'
import { Foldable, Failed, Loading } from '../parts/states.tsx'
import { Link, withQuery } from '../routing/router.tsx'
import { decisionWords, kindTitles } from '../waiting/decision-words.ts'
import type { LiveRun } from './live-run.ts'
import { Messages, Outcome, Parts } from './messages.tsx'
import { ErrorBox } from './task-panel.tsx'

interface StepPanelProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly path: string
}

export function StepPanel({ run, detail, path }: StepPanelProps): JSX.Element {
  const streamed = run.streamed.value.get(path)
  const version = run.version.value
  const recorded = run.timeline.value?.attempts
    .findLast((attempt) => attempt.path === attemptsOnPath(path).at(-1))
    ?.steps.findLast((step) => step.path === path)
  const key = `${detail.runId} ${path} ${recorded?.status ?? version}`
  const step = useResource<StepView>(
    key,
    (signal) => call('GET /runs/{run}/steps/{path}', { params: { run: detail.runId, path }, signal }),
    { live: false },
  )
  return (
    <div class="detail-body">
      <header>
        <h2 class={step.value?.type === 'tool' ? 'mono' : ''}>{stepTitle(step.value)}</h2>
      </header>
      <p class="soft facts-line">
        <Link to={withQuery({ at: taskInPath(path) })} replace>
          {taskInPath(path)}
        </Link>
        {' · '}
        <span class="mono">{path}</span>
        {(step.value ? stepFacts(step.value) : []).map((fact) => ` · ${fact}`)}
      </p>
      {streamed !== undefined ? (
        <section>
          <h3>Now</h3>
          {streamed.reasoning !== '' && <p class="faint">{streamed.reasoning}</p>}
          <Markdown text={streamed.text} />
        </section>
      ) : step.value ? (
        step.value.type === 'model' ? (
          <ModelParts step={step.value} />
        ) : (
          <ToolParts step={step.value} running={detail.status === 'running'} />
        )
      ) : step.error === undefined ? (
        <Loading what="the step" />
      ) : step.error instanceof ApiError && step.error.status === 404 ? (
        <p class="soft">This step isn’t recorded yet.</p>
      ) : (
        <Failed error={step.error} again={step.again} />
      )}
    </div>
  )
}

function ModelParts({ step }: { readonly step: ModelStep }): JSX.Element {
  const { request, reply, error, tries } = step
  return (
    <>
      {error && (
        <section>
          <h3>Error</h3>
          <ErrorBox message={error.message} stack={error.stack} />
        </section>
      )}
      {reply && (
        <section>
          <h3>Reply</h3>
          <Parts parts={reply.parts} />
        </section>
      )}
      {tries.length > 0 && (
        <section>
          <h3>{error ? 'Tries' : 'Failed tries before the reply'}</h3>
          <ul>
            {tries.map(({ at, error: words }, index) => (
              <li key={index}>
                <span class="faint">{longTime(at)}</span> {words}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Request</h3>
        <Foldable title="Instructions">
          <Markdown text={request.instructions} />
        </Foldable>
        <Messages messages={request.messages} />
        {request.tools.length > 0 && (
          <Foldable title={`Tools (${request.tools.length})`}>
            {request.tools.map((tool) => (
              <div key={tool.name} class="tool-definition">
                <p>
                  <code>{tool.name}</code> <span class="soft">{tool.description}</span>
                </p>
                <JsonTree value={tool.schema} open={0} />
              </div>
            ))}
          </Foldable>
        )}
        {Object.keys(request.settings).length > 0 && (
          <Foldable title="Settings">
            <JsonTree value={request.settings} />
          </Foldable>
        )}
        {request.output !== undefined && (
          <Foldable title="Reply schema">
            <JsonTree value={request.output} />
          </Foldable>
        )}
      </section>
    </>
  )
}

function ToolParts({ step, running }: { readonly step: ToolStep; readonly running: boolean }): JSX.Element {
  const { input, asked: requested, outcome, abandoned, questions, effect, times, source, idempotencyKey, stack } = step
  const changed = JSON.stringify(input) !== JSON.stringify(requested)
  return (
    <>
      <section>
        <h3>Arguments</h3>
        <ValueView value={input} />
        {changed && (
          <Foldable title="Changed by a person. Arguments from the model">
            <ValueView value={requested} />
          </Foldable>
        )}
      </section>
      <section>
        <h3>Result{source === undefined ? '' : ` (${source})`}</h3>
        {outcome ? (
          <Outcome outcome={outcome} />
        ) : (
          <p class="soft">
            {abandoned !== undefined
              ? `The outcome is unknown: ${abandoned}`
              : running || step.startedAt === undefined
                ? 'No result yet.'
                : 'The outcome of this call isn’t recorded.'}
          </p>
        )}
        {stack !== undefined && <ErrorBox message="The tool threw" stack={stack} />}
      </section>
      <StepQuestions questions={questions} />
      <p class="hint">
        {[
          effect !== undefined && `effect ${effect}`,
          times > 1 && `started ${times} times`,
          idempotencyKey !== undefined && `idempotency key ${idempotencyKey}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </>
  )
}

function stepTitle(step: StepView | undefined): string {
  if (!step) return 'Step'
  if (step.type === 'tool') return step.tool
  return step.error ? 'Failed model call' : 'Model call'
}

function stepFacts(step: StepView): readonly string[] {
  const time =
    step.startedAt !== undefined &&
    step.endedAt !== undefined &&
    preciseDuration(Date.parse(step.endedAt) - Date.parse(step.startedAt))
  if (step.type === 'tool') return [time].filter(isText)
  const { usage, cost, reply, request } = step
  return [
    time,
    reply?.model ?? request.model,
    usage.calls > 0 && `${usage.input} in, ${usage.output} out`,
    cost !== undefined && usage.calls > 0 && dollars(cost),
  ].filter(isText)
}

function isText(value: string | false): value is string {
  return value !== false
}

export function StepQuestions({ questions }: Pick<ToolStep, 'questions'>): JSX.Element | null {
  if (questions.length === 0) return null
  return (
    <section>
      <h3>Decisions</h3>
      {questions.map(({ question, askedAt, answer }) => (
        <div key={question.id} class="decision">
          <p>{kindTitles[question.kind]}</p>
          <p class="soft">
            {longTime(askedAt)}:{' '}
            {answer ? (
              <>
                <strong>{decisionWords(question.kind, answer.decision).done}</strong>
                {answer.by !== undefined && ` by ${answer.by}`}
                {'reason' in answer && `: ${answer.reason}`}
                {answer.note !== undefined && ` (${answer.note})`}
              </>
            ) : (
              'Open'
            )}
          </p>
        </div>
      ))}
    </section>
  )
}
