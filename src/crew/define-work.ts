// From a task that is a function or a crew, as users write it, to what the engine executes.
import type { ChildDefinition, CodeDefinition, TaskDefinition } from '../engine/definition.ts'
import { messageOf, RepriseError } from '../errors.ts'
import type { Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import type { ChildOf } from './crew-task.ts'
import type { Overrides } from './define.ts'
import { readInputs, settled, unreadInputs } from './given-inputs.ts'
import { checkInputs } from './inputs.ts'
import { outputFileOf } from './output-file.ts'
import { fingerprintOf, type Field } from './task-fingerprint.ts'
import type { Task } from './task.ts'

type Work = { readonly code: CodeDefinition } | { readonly child: ChildDefinition }

/** It may use any input. */
export function defineWork(task: Task, work: Work, context: readonly string[]): TaskDefinition {
  const { name, named, id, description, async, when } = task
  // what a crew gives is what its last task gives
  const schema = 'child' in work ? work.child.crew.tasks.at(-1)?.schema : task.schema
  return {
    name,
    named,
    id,
    description,
    expectedOutput: undefined,
    agent: noAgent,
    context,
    inputs: [],
    schema,
    tools: [],
    coworkers: [],
    retries: 0,
    code: 'code' in work ? work.code : undefined,
    child: 'child' in work ? work.child : undefined,
    guardrails: [],
    humanInput: false,
    async,
    when,
    outputFile: outputFileOf(task),
    render: () => ({ instructions: '', message: [] }),
    fingerprint(inputs, outputs) {
      const given = Object.entries(inputs).map(([input, value]): Field => [`input:${input}`, value])
      return fingerprintOf({ schema, when }, outputs, [...identityOf(task, work), ...given])
    },
  }
}

/** What a function does is not seen; what a crew does is what its tasks declare, with the inputs that are written for it. */
function identityOf(task: Task, work: Work): Field[] {
  const version: Json = task.version ?? null
  if ('code' in work) return [['code', { version, effect: work.code.effect }]]
  const { crew } = work.child
  const inputs = task.child?.inputs
  const given = inputs === undefined || typeof inputs === 'function' ? undefined : unreadInputs(inputs, inputsOf(task))
  return [
    ['crew', { name: crew.name, version }],
    ...(given ? [['crew inputs', given] as const] : []),
    ...crew.tasks.map((one): Field => [`crew task:${one.name}`, one.fingerprint({}, new Map())]),
  ]
}

export function defineChild(task: Task, { crew, inputs }: ChildOf, overrides: Overrides): ChildDefinition {
  const definition = crew['~definition'](overrides)
  const what = inputsOf(task)
  return {
    crew: definition,
    known(own) {
      if (typeof inputs === 'function' || definition.callbacks?.before) return undefined
      return inputs === undefined ? own : unreadInputs(inputs, what)
    },
    async inputs(soFar, own) {
      const given = typeof inputs === 'function' ? await callFor(task, () => inputs(soFar)) : inputs
      const read = await readInputs(given, what)
      const made = given === undefined ? own : settled(read, own)
      const { before } = definition.callbacks ?? {}
      const more = await before?.(made)
      const all = more?.inputs ?? made
      // a run that is made with too few could never be completed
      for (const one of definition.tasks) checkInputs(one, all)
      return { inputs: all, files: new Map([...read.files, ...(more?.files ?? [])]) }
    },
  }
}

const inputsOf = ({ name }: Task): string => `what inputs of task ${name} gives`

/** TASK_FAILED when the function that makes a crew's inputs throws. */
async function callFor<Made>(task: Task, make: () => Made | Promise<Made>): Promise<Made> {
  try {
    return await make()
  } catch (error) {
    const words = `the inputs of task ${task.name} threw: ${redact(messageOf(error))}`
    throw new RepriseError('TASK_FAILED', words, { task: task.name, cause: error })
  }
}

/** Of a task that needs none. */
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
