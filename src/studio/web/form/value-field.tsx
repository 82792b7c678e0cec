// A form field for a value of a given shape. Calls `onChange` with every change, except while JSON is invalid. Empty
// JSON, and a number that can't be parsed, become undefined.
import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import type { Field, Shape } from '../../../schema/schema-shape.ts'

interface ValueProps {
  readonly shape: Shape
  readonly value: Json | undefined
  readonly label: string
  readonly description?: string | undefined
  readonly required?: boolean
  onChange(value: Json | undefined): void
}

export function ValueField(props: ValueProps): JSX.Element {
  const { shape, label, description, required = false } = props
  const id = useId()
  if (shape.type === 'object') return <ObjectField {...props} fields={shape.fields} />
  if (shape.type === 'flag')
    return (
      <div class="field is-flag">
        <Input {...props} id={id} />
        <label for={id}>{label}</label>
        {description !== undefined && <p class="hint">{description}</p>}
      </div>
    )
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required && <span class="faint"> required</span>}
        {shape.type === 'json' && <span class="faint"> · JSON</span>}
      </label>
      {description !== undefined && <p class="hint">{description}</p>}
      <Input {...props} id={id} />
    </div>
  )
}

interface TextFieldProps {
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly class?: string
  /** The id of a datalist. */
  readonly list?: string
  onInput(value: string): void
}

export function TextField({ label, hint, onInput, ...rest }: TextFieldProps): JSX.Element {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        {label} {hint !== undefined && <span class="faint">{hint}</span>}
      </label>
      <input {...rest} id={id} type="text" onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  )
}

interface SelectFieldProps<Value extends string> {
  readonly label: string
  readonly value: Value
  /** Each value with its label, if that differs from the value. */
  readonly options: readonly (readonly [value: Value, words?: string])[]
  readonly disabled?: boolean
  onChange(value: Value): void
}

export function SelectField<Value extends string>(props: SelectFieldProps<Value>): JSX.Element {
  const { label, options, onChange, ...rest } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select {...rest} id={id} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map(([value, words = value]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  )
}

function ObjectField({
  label,
  fields,
  value,
  onChange,
}: ValueProps & { readonly fields: readonly Field[] }): JSX.Element {
  const own = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return (
    <fieldset>
      <legend>{label}</legend>
      {fields.map(({ name, title, description, required, shape }) => (
        <ValueField
          key={name}
          shape={shape}
          label={title}
          description={description}
          required={required}
          value={(own as { [key: string]: Json })[name]}
          onChange={(member) => onChange(withMember(own as { [key: string]: Json }, name, member))}
        />
      ))}
    </fieldset>
  )
}

function Input(props: ValueProps & { readonly id: string }): JSX.Element {
  const { shape, value, id, onChange } = props
  switch (shape.type) {
    case 'flag':
      return (
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'choice':
      return (
        <select
          id={id}
          value={JSON.stringify(value ?? null)}
          onChange={(event) => onChange(JSON.parse(event.currentTarget.value) as Json)}
        >
          {value === undefined && <option value="null">Choose …</option>}
          {shape.options.map((option) => (
            <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
              {typeof option === 'string' ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      )
    case 'number':
      return (
        <input
          id={id}
          type="number"
          step={shape.whole ? 1 : 'any'}
          value={typeof value === 'number' ? value : ''}
          onInput={(event) => onChange(readNumber(event.currentTarget.value))}
        />
      )
    case 'text':
      return <TextInput {...props} long={shape.long} />
    case 'object':
    case 'json':
      return <JsonInput {...props} />
  }
}

function TextInput({
  id,
  value,
  long,
  onChange,
}: ValueProps & { readonly id: string; readonly long: boolean }): JSX.Element {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  if (!long) return <input id={id} type="text" value={text} onInput={(event) => onChange(event.currentTarget.value)} />
  const rows = Math.min(14, Math.max(3, Math.ceil(text.length / 90), text.split('\n').length + 1))
  return <textarea id={id} rows={rows} value={text} onInput={(event) => onChange(event.currentTarget.value)} />
}

function JsonInput({ id, value, onChange }: ValueProps & { readonly id: string }): JSX.Element {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [problem, setProblem] = useState('')
  const read = (typed: string): void => {
    setText(typed)
    try {
      onChange(typed.trim() === '' ? undefined : (JSON.parse(typed) as Json))
      setProblem('')
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const rows = Math.min(16, Math.max(3, text.split('\n').length + 1))
  return (
    <>
      <textarea
        id={id}
        class="mono"
        rows={rows}
        spellcheck={false}
        aria-invalid={problem !== ''}
        aria-describedby={problem === '' ? undefined : `${id}-problem`}
        value={text}
        onInput={(event) => read(event.currentTarget.value)}
      />
      {problem !== '' && (
        <p id={`${id}-problem`} class="problem" role="alert">
          Invalid JSON: {problem}
        </p>
      )}
    </>
  )
}

function readNumber(text: string): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}

function withMember(own: { readonly [key: string]: Json }, name: string, value: Json | undefined): Json {
  const { [name]: _, ...rest } = own
  return value === undefined ? rest : { ...own, [name]: value }
}
