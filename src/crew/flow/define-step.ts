// Builds the engine's definitions of the steps of a flow, which are requested while it runs.
import type { ChildDefinition, FunctionDefinition, TaskDefinition } from '../../engine/definition.ts'
import type { Fingerprint } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import { crewFields, noAgent } from '../define/define-work.ts'
import { digestFields, field, inputFields, type Field } from '../define/task-fingerprint.ts'

/** The fields that the steps of a flow have in common with tasks, but do not use. */
const unused = {
  named: true,
  was: [],
  id: '',
  description: '',
  expectedOutput: undefined,
  agent: noAgent,
  context: [],
  anyContext: true,
  inputs: [],
  tools: [],
  coworkers: [],
  retries: 0,
  guardrails: [],
  humanInput: false,
  async: false,
  when: undefined,
  render: () => ({ instructions: '', message: [] }),
  turns: () => new Map<string, number>(),
} as const satisfies Partial<TaskDefinition>

interface FunctionStep {
  readonly name: string
  readonly code: FunctionDefinition
  readonly schema: AnswerSchema | undefined
  readonly version: string | undefined
  /** Undefined if the step declares none: then it depends on all inputs of the run. */
  readonly input: Json | undefined
}

/** Defines a step that calls a function. */
export function defineFunctionStep({ name, code, schema, version, input }: FunctionStep): TaskDefinition {
  let fingerprint: Fingerprint | undefined
  return {
    ...unused,
    name,
    schema,
    child: undefined,
    code,
    started: { input },
    fingerprint: (inputs) =>
      (fingerprint ??= digestFields([
        ['code', { effect: code.effect }],
        ...(input === undefined ? inputFields(inputs) : ([['input', input]] satisfies Field[])),
        ...field('version', version),
        ...field('output schema', schema?.json),
      ])),
  }
}

const declaredFields = new WeakMap<object, Fingerprint>()

/** Defines a step that executes a crew, a flow or an agent in a child run. In `inputs`, hashes identify files. */
export function defineChildStep(name: string, child: ChildDefinition, inputs: Json): TaskDefinition {
  const { crew } = child
  const last = crew.tasks.at(-1)
  return {
    ...unused,
    name,
    schema: crew.flow ? crew.flow.schema : last?.schema,
    reading: last?.reading,
    child,
    code: undefined,
    fingerprint() {
      // a flow may start thousands of runs of the same crew
      let declared = declaredFields.get(crew)
      if (!declared) declaredFields.set(crew, (declared = digestFields(crewFields(crew))))
      return { ...declared, ...digestFields([['crew inputs', inputs]]) }
    },
  }
}
