// Builds the engine's definition of function tasks and nested crews.
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

/** `given`: the context tasks, in crew order. */
export function defineWork(task: Task, work: TaskWork, given: readonly TaskDefinition[]): TaskDefinition {
  // the output of a nested crew is the output of its last task
  const last = 'child' in work && !task.schema ? work.child.crew.tasks.at(-1) : undefined
  const schema = last ? last.schema : task.schema
  return {
    ...sharedFields(task),
    expectedOutput: undefined,
    agent: noAgent,
    context: given.map((other) => other.name),
    // a function may also use any other input
    inputs: placeholders(task.outputFile ?? ''),
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

/** The fields that all types of tasks have. */
export function sharedFields(task: Task): Pick<TaskDefinition, SharedField | 'anyContext' | 'outputFile'> {
  const { name, named, was, id, description, humanInput, async, when } = task
  const own = { name, named, was, id, description, humanInput, async, when }
  return { ...own, anyContext: task.context === undefined, outputFile: defineOutputFile(task) }
}

/** A schema's transforms can't be compared: a new version says that they changed. */
export function parsingIdentity({ schema, version }: Pick<Task, 'schema' | 'version'>): Json | undefined {
  return schema && { schema: schema.json, version: version ?? null }
}

/** Identity of a nested crew: its tasks by position, so that a rename changes nothing, with their contexts. */
function crewFields({ tasks, process, callbacks }: CrewDefinition): Field[] {
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
 * Fingerprint fields of the child run's inputs: all inputs of the run by default; the object, if declared as one; all
 * inputs and outputs, if declared as a function.
 */
function childInputFields(task: Task, inputs: Inputs, all: () => Field[]): Field[] {
  const declared = task.child?.inputs
  if (declared === undefined) return inputFields(inputs)
  if (typeof declared === 'function') return [['crew inputs', 'a function'], ...all()]
  return [['crew inputs', hashedInputs(declared, inputsLabel(task))]]
}

export function defineChild(task: Task, { crew, inputs }: ChildOf, overrides: Overrides): ChildDefinition {
  const definition = crew['~definition'](overrides)
  const what = inputsLabel(task)
  return {
    crew: definition,
    ownSchema: task.schema !== undefined,
    sharesInputs: inputs === undefined && !definition.callbacks?.before,
    known(own) {
      if (typeof inputs === 'function' || definition.callbacks?.before) return undefined
      return inputs === undefined ? own : inputsWithoutFiles(inputs, what)
    },
    async inputs(soFar, own) {
      const given = typeof inputs === 'function' ? await callInputs(task, () => inputs(soFar)) : inputs
      const read = await readRawInputs(given, what)
      const made = await prepareInputs(definition, given === undefined ? own : resolveInputs(read, own), read.files)
      // a run with missing inputs could never complete
      for (const one of definition.tasks) checkInputs(one, made.inputs)
      return made
    },
  }
}

const inputsLabel = ({ name }: Task): string => `inputs of task ${name}`

/** TASK_FAILED if the `inputs` function of a nested crew throws. */
async function callInputs<Made>(task: Task, make: () => Made | Promise<Made>): Promise<Made> {
  try {
    return await make()
  } catch (error) {
    const words = `its inputs threw: ${redact(messageOf(error))}`
    throw new RepriseError('TASK_FAILED', words, { task: task.name, cause: error })
  }
}

/** Placeholder for function tasks and nested crews. */
const noAgent: TaskDefinition['agent'] = {
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
