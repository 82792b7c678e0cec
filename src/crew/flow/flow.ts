// The Flow class: loops, routes and lists in plain code. Its function requests steps, whose results are recorded, so
// that a run can be killed at any instant and continued. For everything else, a flow is a crew.
import { defined, readOptions } from '../../base/options.ts'
import type { FlowDefinition } from '../../engine/definition.ts'
import type { InferInput, InferOutput, ObjectSchema, SchemaInput } from '../../schema/answer-schema.ts'
import { Crew } from '../crew.ts'
import { readStandIns } from '../define/define-tasks.ts'
import { flowTable, withFlow, type FlowOptions } from '../options/flow-options.ts'
import type { HiddenCrewOptions } from '../options/crew-options.ts'
import type { Task } from '../task.ts'
import { createFlowRun } from './flow-run.ts'
import type { Jsoned } from './flow-types.ts'

/** For the compiler, a flow is a crew with one task: its function. */
type FunctionTask<Result, Output> = readonly [
  Task<string, [Output] extends [never] ? Jsoned<Awaited<Result>> : InferOutput<Output>, never>,
]

type InputsOf<Schema> = [Schema] extends [never] ? never : InferInput<Schema> & object
type GivenInputs<Schema> = [Schema] extends [never] ? { readonly [name: string]: never } : InputsOf<Schema>
type ParsedInputs<Schema> = [Schema] extends [never] ? { readonly [name: string]: never } : InferOutput<Schema>

/** A flow. Its methods are those of a crew. */
export class Flow<
  const Schema extends ObjectSchema = never,
  Result = unknown,
  const Output extends SchemaInput = never,
> extends Crew<FunctionTask<Result, Output>, InputsOf<Schema>> {
  /**
   * Creates a flow. The store is opened by the first call that needs it. Throws OPTION_INVALID or OPTION_UNKNOWN; the
   * message names the option and its valid values.
   */
  constructor(options: FlowOptions<Schema, ParsedInputs<Schema>, GivenInputs<Schema>, Result, Output>) {
    const { '~world': _, '~chat': chat, ...given } = { ...options } as typeof options & HiddenCrewOptions
    const { run, output } = readOptions(flowTable, given)
    const overrides = readStandIns(options)
    const flow: FlowDefinition = {
      schema: output,
      run: (context) => run(createFlowRun(context, overrides)),
      ...defined({ chat }),
    }
    super(withFlow(options, flow) as never)
  }

  override '~copy'(options: object): Flow<Schema, Result, Output> {
    return new Flow(options as FlowOptions<Schema, ParsedInputs<Schema>, GivenInputs<Schema>, Result, Output>)
  }
}
