// The form for an answer: a decision, its fields, a note and a name. A key selects a decision and moves the focus, so
// no single key sends an answer. A new form ignores input for a moment, because a second press was meant for the
// previous question: one gesture answers one question.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Answer } from '../../../journal/entries.ts'
import type { Json } from '../../../journal/json.ts'
import type { QuestionView } from '../../api/contract.ts'
import { mayAnswer, sign, signature, signed } from '../api/studio-session.ts'
import { schemaShape, type Shape } from '../form/schema-shape.ts'
import { TextField, ValueField } from '../form/value-field.tsx'
import { Problem } from '../parts/states.tsx'
import { useShortcuts } from '../keys/shortcuts.ts'
import { decisionWords, fieldLabels, startingValue } from './decision-words.ts'
import { findDraft, keepDraft, holdAnswer, type Draft } from './held-answers.ts'
import { questionKey } from '../routing/router.tsx'

/** Longer than the time between two presses of one gesture. */
const guardMs = 800

interface AnswerFormProps {
  readonly question: QuestionView
  /** Called when the answer is given. It can still be undone, and isn't sent yet. */
  onAnswered(): void
}

export function AnswerForm({ question, onAnswered }: AnswerFormProps): JSX.Element {
  const id = questionKey(question)
  const names = Object.keys(question.decisions)
  const [draft, setDraft] = useState<Draft>(() => findDraft(id) ?? emptyDraft(question))
  const { decision, given, changed, note, problem } = draft
  const update = (part: Partial<Draft>): void => {
    const next = { ...draft, ...part }
    keepDraft(id, next)
    setDraft(next)
  }
  const ready = useReady()
  const form = useRef<HTMLFormElement>(null)
  const { must = [], may = [] } = question.decisions[decision] ?? {}
  const fields = [...must, ...(changed ? may : [])]
  const words = decisionWords(question.kind, decision)

  const choose = (name: string, focus: boolean): void => {
    if (name !== decision) update({ decision: name, given: {}, changed: false, problem: '' })
    setFocusAfter(focus)
  }
  const [focusAfter, setFocusAfter] = useState(false)
  // before the next key, which would trigger another shortcut
  useLayoutEffect(() => {
    if (!focusAfter) return
    setFocusAfter(false)
    const target = form.current?.querySelector<HTMLElement>('.decision-fields :is(input, textarea, select)')
    const send = form.current?.querySelector<HTMLElement>('button[type=submit]')
    ;(target ?? send)?.focus()
  }, [focusAfter])

  const valueOf = (field: string): Json | undefined =>
    Object.hasOwn(given, field) ? given[field] : startingValue(question, field)

  const send = (): void => {
    if (!ready) return
    if (decision === '') return update({ problem: 'Choose a decision first.' })
    const missing = must.find((field) => isMissing(valueOf(field)))
    if (missing !== undefined) return update({ problem: `${fieldLabels[missing] ?? missing} is required.` })
    const answer = {
      decision,
      ...Object.fromEntries(fields.map((field) => [field, valueOf(field)])),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
      ...signed(),
    }
    update({ problem: '' })
    holdAnswer({ question, answer: answer as unknown as Answer, words: words.send })
    onAnswered()
  }

  const isAllowed = mayAnswer()
  useShortcuts(
    'This question',
    [
      ...names.map((name) => {
        const { key, choice } = decisionWords(question.kind, name)
        return { keys: key, does: choice, run: () => choose(name, true) }
      }),
      {
        keys: 'Ctrl+Enter',
        does: 'Send the answer',
        whileTyping: true,
        run: ({ repeat }) => {
          if (!repeat) form.current?.requestSubmit()
        },
      },
    ],
    isAllowed && ready,
  )

  if (!isAllowed) return <p class="hint answer-form">You can’t answer: that needs a token with the role answer.</p>
  return (
    <form
      ref={form}
      class="answer-form form"
      aria-label="Your answer"
      inert={!ready}
      onKeyDown={(event) => {
        // holding a key down is one gesture
        if (event.repeat && event.key === 'Enter') event.preventDefault()
      }}
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Choices question={question} names={names} decision={decision} choose={(name) => choose(name, false)} />
      <p class="hint">{decision === '' ? unchosenWords(question.kind) : words.means}</p>
      {(fields.length > 0 || may.length > 0) && (
        <div class="decision-fields form">
          {fields.map((field) => (
            <AnswerField
              key={`${decision}.${field}`}
              question={question}
              field={field}
              required={must.includes(field)}
              value={valueOf(field)}
              onChange={(value) => update({ given: { ...given, [field]: value } })}
            />
          ))}
          {may.length > 0 && (
            <ValueField
              shape={{ type: 'flag' }}
              label="Change the arguments"
              value={changed}
              onChange={(on) => update({ changed: on === true })}
            />
          )}
        </div>
      )}
      <div class="sign">
        <TextField label="Note" hint="optional" value={note} onInput={(text) => update({ note: text })} />
        <TextField label="Your name" value={signature.value} onInput={sign} />
      </div>
      <Problem text={problem} />
      <div class="send">
        <button
          type="submit"
          class={decision === 'fail' || decision === 'deny' ? 'danger' : 'primary'}
          disabled={decision === ''}
        >
          {decision === '' ? 'Choose a decision' : words.send}
        </button>
        <span class="hint for-keys">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
      </div>
    </form>
  )
}

/** Preselects no decision for calls, which have effects, or for doubts, which have no likely answer. */
function emptyDraft({ kind, decisions }: QuestionView): Draft {
  const [first = ''] = Object.keys(decisions)
  return {
    decision: kind === 'call' || kind === 'doubt' ? '' : first,
    given: {},
    changed: false,
    note: '',
    problem: '',
  }
}

function unchosenWords(kind: QuestionView['kind']): string {
  return kind === 'doubt' ? 'Check with the service whether the call took effect.' : 'Decide whether the call is made.'
}

/** False for a moment after the question appears, and after each press in that time: the gesture isn't over. */
function useReady(): boolean {
  const [ready, setReady] = useState(false)
  useEffect(() => {
    if (ready) return
    let timer: ReturnType<typeof setTimeout>
    const wait = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => setReady(true), guardMs)
    }
    wait()
    addEventListener('pointerdown', wait, true)
    addEventListener('keydown', wait, true)
    return () => {
      clearTimeout(timer)
      removeEventListener('pointerdown', wait, true)
      removeEventListener('keydown', wait, true)
    }
  }, [ready])
  return ready
}

interface ChoicesProps {
  readonly question: QuestionView
  readonly names: readonly string[]
  readonly decision: string
  choose(name: string): void
}

function Choices({ question, names, decision, choose }: ChoicesProps): JSX.Element {
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

interface AnswerFieldProps {
  readonly question: QuestionView
  readonly field: string
  readonly required: boolean
  readonly value: Json | undefined
  onChange(value: Json | undefined): void
}

function AnswerField({ question, field, required, value, onChange }: AnswerFieldProps): JSX.Element {
  // the shape of the first value: a text must not turn into a number while typing
  const [shape] = useState<Shape>(() => shapeFor(question, field))
  return (
    <ValueField
      shape={shape}
      label={fieldLabels[field] ?? field}
      required={required}
      value={value}
      onChange={onChange}
    />
  )
}

function shapeFor(question: QuestionView, field: string): Shape {
  if (field === 'reason' || field === 'feedback') return { type: 'text', long: true }
  const begin = startingValue(question, field)
  if (field === 'to') {
    const names = typeof begin === 'object' && begin !== null ? Object.keys(begin) : ['tokens']
    const fields = names.map((name) => ({
      name,
      title: limitTitles[name] ?? name,
      description: undefined,
      required: true,
      shape: { type: 'number', whole: name === 'tokens' } as const,
    }))
    return { type: 'object', fields }
  }
  if (field === 'result') return { type: 'json' }
  const shape = schemaShape(question.schema, begin)
  return shape.type === 'text' ? { ...shape, long: true } : shape
}

const limitTitles: { readonly [name: string]: string } = { tokens: 'Tokens', cost: 'Dollars', seconds: 'Seconds' }

function isMissing(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '')
}
