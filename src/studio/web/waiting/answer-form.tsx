// The form for an answer: a decision, its fields, a note and a name. A shortcut selects a decision and moves the focus,
// so no single key press sends an answer. A new form ignores input for a moment, because a double click or a repeated
// key was meant for the previous question.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Answer } from '../../../journal/entries.ts'
import type { Json } from '../../../journal/json.ts'
import type { QuestionView } from '../../api/contract.ts'
import { mayAnswer, sign, signature, signed } from '../api/studio-session.ts'
import { schemaShape, type Shape } from '../../../schema/schema-shape.ts'
import { TextField, ValueField } from '../form/value-field.tsx'
import { Problem } from '../parts/states.tsx'
import { useShortcuts } from '../keys/shortcuts.ts'
import { decisionWords, fieldLabels, startingValue } from './decision-words.ts'
import { findDraft, saveDraft, holdAnswer, type Draft } from './held-answers.ts'
import { questionKey } from '../routing/router.tsx'

/** Longer than the time between two presses of one gesture. */
const guardMs = 800

interface AnswerFormProps {
  readonly question: QuestionView
  /** Called when the user submits the answer, which isn't sent yet and can be undone. */
  onAnswered(): void
}

export function AnswerForm({ question, onAnswered }: AnswerFormProps): JSX.Element {
  const id = questionKey(question)
  const names = Object.keys(question.decisions)
  const [draft, setDraft] = useState<Draft>(() => findDraft(id) ?? emptyDraft(question))
  const { decision, values, showsOptional, note, problem } = draft
  const update = (part: Partial<Draft>): void => {
    const next = { ...draft, ...part }
    saveDraft(id, next)
    setDraft(next)
  }
  const ready = useReady()
  const form = useRef<HTMLFormElement>(null)
  const { must = [], may = [] } = question.decisions[decision] ?? {}
  const fields = [...must, ...(showsOptional ? may : [])]
  const words = decisionWords(question.kind, decision)

  const choose = (name: string, focus: boolean): void => {
    if (name !== decision) update({ decision: name, values: {}, showsOptional: false, problem: '' })
    setFocusAfter(focus)
  }
  const [focusAfter, setFocusAfter] = useState(false)
  // a layout effect moves the focus before the next key press, which would trigger another shortcut
  useLayoutEffect(() => {
    if (!focusAfter) return
    setFocusAfter(false)
    const target = form.current?.querySelector<HTMLElement>('.decision-fields :is(input, textarea, select)')
    const send = form.current?.querySelector<HTMLElement>('button[type=submit]')
    ;(target ?? send)?.focus()
  }, [focusAfter])

  const valueOf = (field: string): Json | undefined =>
    Object.hasOwn(values, field) ? values[field] : startingValue(question, field)

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

  if (!isAllowed) return <p class="hint answer-form">To answer, you need a token with the role answer.</p>
  return (
    <form
      ref={form}
      class="answer-form form"
      aria-label="Your answer"
      inert={!ready}
      onKeyDown={(event) => {
        // holding Enter down submits only once
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
              onChange={(value) => update({ values: { ...values, [field]: value } })}
            />
          ))}
          {may.length > 0 && (
            <ValueField
              shape={{ type: 'flag' }}
              label="Change the arguments"
              value={showsOptional}
              onChange={(on) => update({ showsOptional: on === true })}
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

/** Preselects no decision for calls, which have effects, and calls in doubt, which have no likely answer. */
function emptyDraft({ kind, decisions }: QuestionView): Draft {
  const [first = ''] = Object.keys(decisions)
  return {
    decision: kind === 'call' || kind === 'doubt' ? '' : first,
    values: {},
    showsOptional: false,
    note: '',
    problem: '',
  }
}

function unchosenWords(kind: QuestionView['kind']): string {
  return kind === 'doubt' ? 'Check with the service whether the call took effect.' : 'Decide whether the call is made.'
}

/** Returns true once the user has pressed no key or button for `guardMs`, and from then on. */
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
  // the shape of the first value, so that the kind of field doesn't change while typing
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
  // no box that looks like an answer before the person has given one
  if (field === 'value' && shape.type === 'flag') return { type: 'choice', options: [true, false] }
  return shape.type === 'text' ? { ...shape, long: true } : shape
}

const limitTitles: { readonly [name: string]: string } = { tokens: 'Tokens', cost: 'Dollars', seconds: 'Seconds' }

function isMissing(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '')
}
