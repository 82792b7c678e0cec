// What a front-end shows of a run. Anybody may read a page, so instructions, intermediate results, data of tools,
// reasoning and error messages stay on the server by default. What a person has to decide is always shown.
import { flag, optional, wrong, type Check, checkKeys } from '../base/options.ts'
import { attemptsOnPath } from '../journal/paths.ts'
import type { RunState } from '../journal/state/state.ts'
import type { ToolOutcome } from '../journal/entries.ts'
import type { PartOrigin } from './message.ts'

export interface ExposeOptions {
  /**
   * Tasks whose texts and outputs are shown. A task that is run by a task in the list, as a crew or an agent, counts as
   * in the list. Default: tasks without an output schema, the last task, and the task whose output is the result.
   */
  readonly tasks?: boolean | readonly string[] | undefined
  /**
   * Tools whose calls are shown, with the texts of coworkers in them. Default: none. A call that waits for an approval
   * is always shown, but not its result.
   */
  readonly tools?: boolean | readonly string[] | undefined
  /** The descriptions of tasks, and the inputs of the run that a question is about. Default: false. */
  readonly prompts?: boolean | undefined
  /** Reasoning of models. Default: false. */
  readonly reasoning?: boolean | undefined
  /** Why a task or the run failed, and why an answer was refused. Default: false, which shows only that it happened. */
  readonly errors?: boolean | undefined
}

export interface Exposure {
  readonly prompts: boolean
  readonly reasoning: boolean
  readonly errors: boolean
  /** Whether the texts of a reply at this path are shown. Never changes for a path. */
  text(state: RunState, origin: PartOrigin): boolean
  /** What is shown of the child runs of a task. Undefined: no texts. */
  child(task: string): Exposure | undefined
  /** Whether the output of a task is shown. */
  output(state: RunState, task: string): boolean
  /** Like `output`, for a task of a child run, whose state isn't available here. */
  childOutput(task: string): boolean
  tool(name: string): boolean
}

const names = ['tasks', 'tools', 'prompts', 'reasoning', 'errors'] as const

const flagOrNames: Check<boolean | readonly string[]> = {
  expected: 'true, false or a list of names',
  read(what, value) {
    const isList = Array.isArray(value) && value.every((name) => typeof name === 'string')
    if (isList || typeof value === 'boolean') return value
    throw wrong(what, value, flagOrNames.expected)
  },
}

/** Checks the options and applies the defaults. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readExpose(value: unknown): Exposure {
  const given = value === true ? everything : value === undefined || value === false ? {} : value
  checkKeys('expose', given, names)
  const options = given as ExposeOptions
  const tasks = optional('tasks of expose', options.tasks, flagOrNames)
  const tools = optional('tools of expose', options.tools, flagOrNames) ?? false
  const includes = (shown: boolean | readonly string[], name: string): boolean =>
    typeof shown === 'boolean' ? shown : shown.includes(name)
  const exposure: Exposure = {
    prompts: optional('prompts of expose', options.prompts, flag) ?? false,
    reasoning: optional('reasoning of expose', options.reasoning, flag) ?? false,
    errors: optional('errors of expose', options.errors, flag) ?? false,
    text(state, origin) {
      if (tasks !== undefined) return includes(tasks, origin.task)
      return isLast(state, origin.task) || !hasSchema(state, origin)
    },
    child(task) {
      if (tasks === false) return undefined
      const isNamed = tasks !== undefined && includes(tasks, task)
      return {
        ...exposure,
        // the result of a child run isn't that of the run
        text: (state, origin) =>
          isNamed || (tasks === undefined ? !hasSchema(state, origin) : includes(tasks, origin.task)),
        child: (inner) => exposure.child(isNamed ? task : inner),
      }
    },
    output(state, task) {
      if (tasks !== undefined) return includes(tasks, task)
      return isResult(state, task) || state.tasks.get(task)?.output?.structured === false
    },
    childOutput: (task) => includes(tasks ?? false, task),
    tool: (name) => includes(tools, name),
  }
  return exposure
}

function hasSchema(state: RunState, { path }: PartOrigin): boolean {
  const [attempt = ''] = attemptsOnPath(path)
  return state.attempts.get(attempt)?.request.output !== undefined
}

const everything: ExposeOptions = { tasks: true, tools: true, prompts: true, reasoning: true, errors: true }

function isLast(state: RunState, task: string): boolean {
  return [...state.tasks.values()].findLast(({ removed, of }) => !removed && of === undefined)?.name === task
}

/** The result of a completed run is the output of the last task that has one: later ones were skipped. */
function isResult(state: RunState, task: string): boolean {
  const last = [...state.tasks.values()].findLast(({ output, removed, of }) => output && !removed && of === undefined)
  return isLast(state, task) || (state.status === 'completed' && last?.name === task)
}

/** How a call ended, without its result or error. The text of a denial is kept, since a person wrote it. */
export function withoutResult(outcome: ToolOutcome): ToolOutcome {
  if ('result' in outcome) return { result: null }
  return 'denied' in outcome ? outcome : { error: 'The call failed.' }
}
