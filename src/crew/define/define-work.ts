// Builds the engine's definitions of function tasks and nested crews.
import type {
  ChildDefinition,
  FunctionDefinition,
  CrewDefinition,
  Inputs,
  TaskDefinition,
} from '../../engine/definition.ts'
import { contextFields } from '../../engine/run/task-context.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { redact } from '../../secrets/redact.ts'
import type { ChildOf } from '../options/task-options.ts'
import type { Overrides } from './define-tasks.ts'
import {
  hashedInputs,
  readRawInputs,
  resolveInputs,
  inputsWithoutFiles,
  prepareInputs,
  checkInputs,
} from '../arguments/run-inputs.ts'
import { defineOutputFile } from './output-path.ts'
import { placeholders } from '../../text/fill-in.ts'
import { field, digestFields, inputFields, type Field } from './task-fingerprint.ts'
import type { Task } from '../task.ts'

type TaskWork = { readonly code: FunctionDefinition } | { readonly child: ChildDefinition }

/** Defines a function task or a nested crew. `given` are its context tasks, in crew order. */
export function defineWork(task: Task, work: TaskWork, given: readonly TaskDefinition[]): TaskDefinition {
  // the output of a nested crew is the output of its last task
  const crew = 'child' in work && !task.schema ? work.child.crew : undefined
  const last: Pick<TaskDefinition, 'schema' | 'reading'> | undefined = crew?.flow ?? crew?.tasks.at(-1)
  const schema = last ? last.schema : task.schema
  return {
    ...sharedFields(task),
    expectedOutput: undefined,
    agent: noAgent,
    context: given.map((other) => other.name),
    // a function may also use any other input
    inputs: placeholders(task.outputFile ?? '').filter((name) => !(task.forEach && name === 'item')),
    schema,
    reading: last ? last.reading : parsingIdentity(task),
    tools: [],
    coworkers: [],
    retries: 0,
    code: 'code' in work ? work.code : undefined,
    child: 'child' in work ? work.child : undefined,
    guardrails: [],
    render: () => ({ instructions: '', message: [] }),
    turns: () => new Map(),
    fingerprint(inputs, outputs) {
      const all = (): Field[] => [...inputFields(inputs), ...contextFields(given, outputs)]
      return digestFields([
        ...('code' in work
          ? [['code', { effect: work.code.effect }] satisfies Field, ...all()]
          : [...crewFields(work.child.crew), ...childInputFields(task, inputs, all)]),
        ...field('human input', task.humanInput),
        ...field('version', task.version),
        ...field('output schema', schema?.json),
      ])
    },
  }
}

type SharedField = 'name' | 'named' | 'was' | 'id' | 'description' | 'humanInput' | 'async' | 'when'

/** Returns the fields that all types of tasks have. */
export function sharedFields(task: Task): Pick<TaskDefinition, SharedField | 'anyContext' | 'outputFile'> {
  const { name, named, was, id, description, humanInput, async, when } = task
  const own = { name, named, was, id, description, humanInput, async, when }
  return { ...own, anyContext: task.context === undefined, outputFile: defineOutputFile(task) }
}

/**
 * Identifies how an output is parsed. Transforms of a schema cannot be compared: a new version indicates that they
 * changed.
 */
export function parsingIdentity({ schema, version }: Pick<Task, 'schema' | 'version'>): Json | undefined {
  return schema && { schema: schema.json, version: version ?? null }
}

/** Fingerprint fields of a nested crew: its tasks by position, so that a rename changes nothing, and their contexts. */
export function crewFields({ tasks, process, callbacks }: CrewDefinition): Field[] {
  const positions = new Map(tasks.map(({ name }, index) => [name, index + 1]))
  return [
    ['crew process', process],
    ...field('crew beforeKickoff', callbacks?.before !== undefined),
    ...tasks.map((task, index): Field => {
      const { async } = task
      const { context: _names, ...declared } = task.fingerprint({}, new Map())
      const context = task.context.map((name) => positions.get(name) as number)
      return [`crew task:${index + 1}`, { declared, context, async, conditional: task.when !== undefined }]
    }),
  ]
}

/**
 * Fingerprint fields of the inputs of the child run. Without declared inputs, these are all inputs of the run; with an
 * object, that object; with a function, all inputs and outputs of the run.
 */
function childInputFields(task: Task, inputs: Inputs, all: () => Field[]): Field[] {
  const declared = task.child?.inputs
  if (declared === undefined) return inputFields(inputs)
  if (typeof declared === 'function') return [['crew inputs', 'a function'], ...all()]
  return [['crew inputs', hashedInputs(declared, inputsLabel(task))]]
}

export function defineChild(
  task: Pick<Task, 'name' | 'schema'>,
  { crew, inputs }: ChildOf,
  overrides: Overrides,
): ChildDefinition {
  const definition = crew['~definition'](overrides)
  const label = inputsLabel(task)
  return {
    crew: definition,
    ownSchema: task.schema !== undefined,
    sharesInputs: inputs === undefined && !definition.callbacks?.before,
    known(runInputs) {
      if (typeof inputs === 'function' || definition.callbacks?.before) return undefined
      return inputs === undefined ? runInputs : inputsWithoutFiles(inputs, label)
    },
    async inputs(soFar, runInputs) {
      const given = typeof inputs === 'function' ? await callInputs(task, () => inputs(soFar)) : inputs
      const rawInputs = await readRawInputs(given, label)
      const prepared = await prepareInputs(
        definition,
        given === undefined ? runInputs : resolveInputs(rawInputs, runInputs),
        rawInputs.files,
      )
      // a child run with missing inputs could never complete
      for (const childTask of definition.tasks) checkInputs(childTask, prepared.inputs)
      return prepared
    },
  }
}

const inputsLabel = ({ name }: Pick<Task, 'name'>): string => `inputs of task ${name}`

/** Rejects with TASK_FAILED if the `inputs` function of a nested crew throws. */
async function callInputs<Made>(task: Pick<Task, 'name'>, make: () => Made | Promise<Made>): Promise<Made> {
  try {
    return await make()
  } catch (error) {
    const words = `its inputs threw: ${redact(messageOf(error))}`
    throw new RepriseError('TASK_FAILED', words, { task: task.name, cause: error })
  }
}

/** Stands for the agent of function tasks and nested crews, which have none. */
export const noAgent: TaskDefinition['agent'] = {
  role: '',
  title: () => '',
  model: undefined,
  settings: {},
  maxIterations: 1,
  maxRetries: 0,
  maxSeconds: undefined,
  maxRpm: undefined,
  identity: {},
}
