// Options of a flow: its function instead of tasks and agents, and otherwise those of a crew.
import { func, type Table } from '../../base/options.ts'
import type { FlowDefinition } from '../../engine/definition.ts'
import type { AnswerSchema, ObjectSchema, SchemaInput, ValueSchema } from '../../schema/answer-schema.ts'
import type { FlowRun } from '../flow/flow-types.ts'
import { crewTable, limitCheck, type CrewOptions } from './crew-options.ts'
import { schemaCheck } from './crew-checks.ts'

type CrewOnly = 'name' | 'tasks' | 'inputs' | 'agents' | 'process' | 'manager' | 'onTaskFailure'

export interface FlowOptions<
  Schema extends ObjectSchema = ObjectSchema,
  Inputs = { readonly [name: string]: unknown },
  Given = object,
  Result = unknown,
  Output extends SchemaInput = SchemaInput,
> extends Omit<CrewOptions, CrewOnly> {
  /** Name of the flow, by which its runs are found. */
  readonly name: string
  /** A Standard Schema that parses the inputs of every new run. Without it, the flow has no inputs. */
  readonly inputs?: Schema
  /**
   * The function. It is called again whenever a run continues, and receives what is recorded. So whatever has an effect
   * or may come out different belongs into steps.
   */
  readonly run: (flow: FlowRun<Inputs, Given>) => Result
  /** A schema that parses what the function returned. Default: the output is that value as JSON. */
  readonly output?: Output
}

interface FlowSettings {
  readonly run: (flow: FlowRun) => unknown
  readonly output: AnswerSchema | undefined
  readonly inputs: ValueSchema | undefined
  readonly concurrency: number
  readonly version: string
  readonly retries: FlowRetries
}

type FlowRetries = { readonly times: number; readonly backoff: number } | undefined

const {
  name,
  tasks: _1,
  agents: _2,
  process: _3,
  manager: _4,
  onTaskFailure: _5,
  inputs,
  ...shared
} = crewTable.options

export const flowTable: Table<FlowOptions, FlowSettings> = {
  object: 'flow',
  called: 'name',
  options: {
    name: { takes: name.takes, required: true, does: 'name of the flow, by which its runs are found' },
    inputs: {
      takes: inputs.takes,
      leftOut: 'the flow has no inputs',
      does: 'schema that parses the inputs of every new run, before anything is queued or spent',
    },
    run: { takes: func, required: true, does: 'the function, which requests steps' },
    output: {
      takes: schemaCheck,
      leftOut: 'the output is the value as JSON',
      does: 'schema that parses what the function returned',
    },
    ...shared,
    budget: {
      ...shared.budget,
      takes: limitCheck,
      leftOut: '10,000 steps',
      does: 'limit per run in tokens, dollars, seconds or steps; a run that reaches it asks a person whether to continue',
    },
    concurrency: { ...shared.concurrency, does: 'how many steps may execute at once' },
    afterKickoff: { ...shared.afterKickoff, does: 'called with the result after the function has returned' },
    onTask: { ...shared.onTask, does: 'called after each executed step, unless it waited' },
  },
  lacks: crewTable.lacks,
}

const functionOfFlow = Symbol('the function of a flow')

/** Adds the function of a flow to the options of a crew. */
export function withFlow<Options extends object>(options: Options, flow: FlowDefinition): Options {
  return { ...options, [functionOfFlow]: flow }
}

/** The function of a flow; undefined for a crew. */
export function flowIn(options: object): FlowDefinition | undefined {
  return (options as { readonly [functionOfFlow]?: FlowDefinition })[functionOfFlow]
}
