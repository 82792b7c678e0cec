// Edits the inputs and outputs for a new run, in forms generated from their schemas. Only changed values are sent.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import type { RunDetail, TaskDetail } from '../../api/contract.ts'
import { schemaShape, valueShape, type Shape } from '../../../schema/schema-shape.ts'
import { SelectField, ValueField } from '../form/value-field.tsx'
import { structureIn } from '../parts/output-view.tsx'
import { Foldable } from '../parts/states.tsx'

export interface RunEdits {
  readonly inputs: { readonly [name: string]: Json }
  readonly outputs: { readonly [task: string]: Json }
  readonly effects: 'reuse' | 'again' | 'ask'
}

interface EditsProps {
  readonly detail: RunDetail
  /** The tasks whose outputs can be edited; of a flow, the step that was opened. */
  readonly tasks: readonly TaskDetail[]
  readonly edited: RunEdits
  /** Whether outputs can be edited as well. */
  readonly outputs: boolean
  /** The task whose output is opened for editing at first. */
  readonly first: string | undefined
  onChange(edited: RunEdits): void
}

export function Edits({ detail, tasks, edited, outputs, first, onChange }: EditsProps): JSX.Element {
  const editable = tasks.filter((task) => task.raw !== '')
  const [open, setOpen] = useState<readonly string[]>(first === undefined ? [] : [first])
  const closed = editable.filter(({ name }) => !open.includes(name))
  return (
    <div class="form edits">
      {Object.keys(detail.inputs).length > 0 && (
        <Foldable title="Inputs" open={first === undefined && outputs}>
          <div class="form">
            {Object.entries(detail.inputs).map(([name, value]) => (
              <InputEdit
                key={name}
                name={name}
                value={value}
                edited={edited.inputs[name]}
                onChange={(next) => onChange({ ...edited, inputs: withChange(edited.inputs, name, next, value) })}
              />
            ))}
          </div>
        </Foldable>
      )}
      {outputs &&
        open.map((name) => {
          const task = editable.find((each) => each.name === name)
          return (
            task && (
              <OutputEdit
                key={name}
                task={task}
                edited={edited.outputs[name]}
                onChange={(next) =>
                  onChange({ ...edited, outputs: withChange(edited.outputs, name, next, outputValue(task)) })
                }
              />
            )
          )
        })}
      {outputs && closed.length > 0 && (
        <div class="add-edit">
          <span class="soft">Edit the output of</span>
          {closed.map(({ name }) => (
            <button key={name} type="button" class="chip" onClick={() => setOpen([...open, name])}>
              {name}
            </button>
          ))}
        </div>
      )}
      <SelectField
        label="Recorded calls with effect once"
        value={edited.effects}
        options={effectOptions}
        onChange={(effects) => onChange({ ...edited, effects })}
      />
    </div>
  )
}

const effectOptions = [
  ['reuse', 'Reuse their results'],
  ['ask', 'Ask before each is reused'],
  ['again', 'Call again'],
] as const

interface InputEditProps {
  readonly name: string
  readonly value: Json
  readonly edited: Json | undefined
  onChange(value: Json | undefined): void
}

function InputEdit({ name, value, edited, onChange }: InputEditProps): JSX.Element {
  const [shape] = useState<Shape>(() => valueShape(value))
  return <ValueField shape={shape} label={name} value={edited ?? value} onChange={onChange} />
}

interface OutputEditProps {
  readonly task: TaskDetail
  readonly edited: Json | undefined
  onChange(value: Json | undefined): void
}

function OutputEdit({ task, edited, onChange }: OutputEditProps): JSX.Element {
  const original = outputValue(task)
  const [shape] = useState<Shape>(() =>
    task.schema === undefined && typeof original === 'string'
      ? { type: 'text', long: true }
      : schemaShape(task.schema, original),
  )
  return <ValueField shape={shape} label={`Output of ${task.name}`} value={edited ?? original} onChange={onChange} />
}

/** The stored output, before the transforms of its schema. */
function outputValue(task: TaskDetail): Json {
  if (task.step) return task.output as Json
  return task.schema === undefined ? task.raw : (structureIn(task.raw) ?? task.raw)
}

function withChange(
  all: { readonly [name: string]: Json },
  name: string,
  next: Json | undefined,
  before: Json,
): { readonly [name: string]: Json } {
  const { [name]: _, ...rest } = all
  return next === undefined || JSON.stringify(next) === JSON.stringify(before) ? rest : { ...rest, [name]: next }
}
