// The answer to a question: a decision, what it needs, a note and who decides. A key chooses a decision and puts the
// focus where the next one counts, so that nothing is sent by one key alone.
import type { JSX } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Answer } from '../../../journal/entries.ts'
import type { Json } from '../../../journal/json.ts'
import { rootRun } from '../../../journal/paths.ts'
import { plural } from '../../../text/words.ts'
import type { Answered, QuestionView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { changes } from '../api/changes.ts'
import { mayAnswer, sign, signature } from '../api/studio-session.ts'
import { shapeOf, type Shape } from '../form/schema-shape.ts'
import { ValueField } from '../form/value-field.tsx'
import { useShortcuts } from '../keys/shortcuts.ts'
import { notify } from '../parts/notices.tsx'
import { wordsOf } from '../parts/states.tsx'
import { leaveToWorker } from './left-to-workers.tsx'
import { decisionWords, fieldWords, startingValue } from './decision-words.ts'

interface AnswerFormProps {
  readonly question: QuestionView
  /** After it was taken. */
  onAnswered(): void
}

type Given = { readonly [field: string]: Json | undefined }

export function AnswerForm({ question, onAnswered }: AnswerFormProps): JSX.Element {
  const names = Object.keys(question.decisions)
  // what is in doubt has no likely answer: nobody shall send one that they have not chosen
  const [decision, setDecision] = useState(question.kind === 'doubt' ? '' : (names[0] ?? ''))
  const [given, setGiven] = useState<Given>({})
  const [changed, setChanged] = useState(false)
  const [note, setNote] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const { must = [], may = [] } = question.decisions[decision] ?? {}
  const fields = [...must, ...(changed ? may : [])]
  const words = decisionWords(question.kind, decision)

  const choose = (name: string, focus: boolean): void => {
    setDecision(name)
    setGiven({})
    setChanged(false)
    setProblem('')
    setFocusAfter(focus)
  }
  const [focusAfter, setFocusAfter] = useState(false)
  // before the next key arrives, which would be another shortcut
  useLayoutEffect(() => {
    if (!focusAfter) return
    setFocusAfter(false)
    const target = form.current?.querySelector<HTMLElement>('.decision-fields :is(input, textarea, select)')
    const send = form.current?.querySelector<HTMLElement>('button[type=submit]')
    ;(target ?? send)?.focus()
  }, [focusAfter])

  const valueOf = (field: string): Json | undefined =>
    Object.hasOwn(given, field) ? given[field] : startingValue(question, field)

  const send = async (): Promise<void> => {
    const missing = must.find((field) => isMissing(valueOf(field)))
    if (missing !== undefined) {
      setProblem(`${fieldWords[missing] ?? missing} is needed.`)
      return
    }
    setBusy(true)
    setProblem('')
    const by = signature.peek().trim()
    const answer = {
      decision,
      ...Object.fromEntries(fields.map((field) => [field, valueOf(field)])),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
      ...(by === '' ? {} : { by }),
    }
    try {
      const taken = await call('POST /runs/{run}/questions/{question}', {
        params: { run: question.runId, question: question.id },
        body: answer as unknown as Answer,
      })
      tell(taken)
      changes.value++
      onAnswered()
    } catch (error) {
      setProblem(wordsOf(error))
      setBusy(false)
      changes.value++
    }
  }

  const may_ = mayAnswer()
  useShortcuts(
    'This question',
    [
      ...names.map((name) => {
        const { key, choice } = decisionWords(question.kind, name)
        return { keys: key, does: choice, run: () => choose(name, true) }
      }),
      { keys: 'Ctrl+Enter', does: 'Send the answer', whileTyping: true, run: () => form.current?.requestSubmit() },
    ],
    may_,
  )

  if (!may_)
    return <p class="hint answer-form">You may look, but not answer: that needs a token with the role answer.</p>
  return (
    <form
      ref={form}
      class="answer-form form"
      aria-label="Your answer"
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy) void send()
      }}
    >
      <Choices question={question} names={names} decision={decision} choose={(name) => choose(name, false)} />
      <p class="hint">{decision === '' ? 'Find out first: ask the service, or whoever would know.' : words.means}</p>
      {(fields.length > 0 || may.length > 0) && (
        <div class="decision-fields form">
          {fields.map((field) => (
            <AnswerField
              key={`${decision}.${field}`}
              question={question}
              field={field}
              required={must.includes(field)}
              value={valueOf(field)}
              onChange={(value) => setGiven({ ...given, [field]: value })}
            />
          ))}
          {may.length > 0 && (
            <ValueField
              shape={{ is: 'flag' }}
              label="with other arguments"
              value={changed}
              onChange={(on) => setChanged(on === true)}
            />
          )}
        </div>
      )}
      <div class="sign">
        <Labelled label="Note" hint="optional" value={note} onInput={setNote} />
        <Labelled label="Your name" hint="" value={signature.value} onInput={sign} />
      </div>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="send">
        <button
          type="submit"
          class={decision === 'fail' || decision === 'deny' ? 'danger' : 'primary'}
          disabled={busy || decision === ''}
        >
          {busy ? 'Sending …' : decision === '' ? 'Choose above' : words.send}
        </button>
        <span class="hint for-keys">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
      </div>
    </form>
  )
}

function Choices({
  question,
  names,
  decision,
  choose,
}: {
  readonly question: QuestionView
  readonly names: readonly string[]
  readonly decision: string
  choose(name: string): void
}): JSX.Element {
  return (
    <div class="decisions" role="group" aria-label="Decision">
      {names.map((name) => {
        const { choice, key } = decisionWords(question.kind, name)
        return (
          <button key={name} type="button" aria-pressed={name === decision} onClick={() => choose(name)}>
            {choice} <kbd class="for-keys">{key}</kbd>
          </button>
        )
      })}
    </div>
  )
}

function AnswerField({
  question,
  field,
  required,
  value,
  onChange,
}: {
  readonly question: QuestionView
  readonly field: string
  readonly required: boolean
  readonly value: Json | undefined
  onChange(value: Json | undefined): void
}): JSX.Element {
  // the shape of what it began as: a text must not become a number while it is typed
  const [shape] = useState<Shape>(() => shapeFor(question, field))
  return (
    <ValueField
      shape={shape}
      label={fieldWords[field] ?? field}
      required={required}
      value={value}
      onChange={onChange}
    />
  )
}

function shapeFor(question: QuestionView, field: string): Shape {
  if (field === 'reason' || field === 'feedback') return { is: 'text', long: true }
  const begin = startingValue(question, field)
  if (field === 'to') {
    const names = typeof begin === 'object' && begin !== null ? Object.keys(begin) : ['tokens']
    const fields = names.map((name) => ({
      name,
      title: limitTitles[name] ?? name,
      description: undefined,
      required: true,
      shape: { is: 'number', whole: name === 'tokens' } as const,
    }))
    return { is: 'object', fields }
  }
  if (field === 'result') return { is: 'json' }
  const shape = shapeOf(question.schema, begin)
  return shape.is === 'text' ? { ...shape, long: true } : shape
}

const limitTitles: { readonly [name: string]: string } = { tokens: 'Tokens', cost: 'Dollars', seconds: 'Seconds' }

function Labelled({
  label,
  hint,
  value,
  onInput,
}: {
  readonly label: string
  readonly hint: string
  readonly value: string
  onInput(value: string): void
}): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        {label} <span class="faint">{hint}</span>
      </label>
      <input id={id} type="text" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  )
}

function isMissing(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '')
}

/** What happens next. */
function tell({ runId, continues, questions }: Answered): void {
  if (continues === 'here') notify('Answered. The run continues here.')
  else if (questions.length > 0) notify(`Answered. The run has ${plural(questions.length, 'more question')}.`)
  else if (continues === 'worker') leaveToWorker(rootRun(runId))
  else notify('Answered. The run waits for a resume.')
}
