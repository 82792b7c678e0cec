// The argument of a flow's function: requests steps. A step is identified by its name and key, never by its position.
import { handled, Misfit, type FlowContext, type StepRequest, type Wait } from '../../engine/flow/pass.ts'
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import { parsedOutput } from '../../engine/run/task-context.ts'
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, defined, describe, isRecord, wrong } from '../../base/options.ts'
import { plainInputs } from '../../journal/files.ts'
import { readJson, strictJson, type Json } from '../../journal/json.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { asAnswerSchema, parseValue, type AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { agentCrew, agentInputs } from '../agent-crew.ts'
import { hashedInputs, prepareInputs, readRawInputs, resolveInputs } from '../arguments/run-inputs.ts'
import { Crew } from '../crew.ts'
import type { Agent } from '../agent.ts'
import { defineChild } from '../define/define-work.ts'
import type { Overrides } from '../define/define-tasks.ts'
import { isAgent } from '../options/crew-checks.ts'
import { stableId } from '../task.ts'
import { defineChildStep, defineFunctionStep } from './define-step.ts'
import { stepName } from './step-name.ts'
import { readStepOptions, runOptions, sleepEnd, sleepOptions, waitOptions } from './step-options.ts'
import type { FlowRun } from './flow-types.ts'

const schemas = new WeakMap<object, AnswerSchema>()

/** Converts a schema once: a loop may pass the same one thousands of times. */
function schemaOf(given: unknown, what: string): AnswerSchema {
  const known = typeof given === 'object' && given !== null ? schemas.get(given) : undefined
  if (known) return known
  const schema = asAnswerSchema(given, what)
  schemas.set(given as object, schema)
  return schema
}

const anyText: Pick<AnswerSchema, 'json' | 'validate'> = {
  json: { type: 'string' },
  validate: async (value) =>
    typeof value === 'string' ? { ok: true, value } : { ok: false, reason: `it is ${describe(value)}, not a text` },
}

const anyInput: Pick<AnswerSchema, 'validate'> = { validate: async (value) => ({ ok: true, value }) }

/** Creates the argument of the function for one pass. `overrides`: replacements of models and tools, as in a crew. */
export function createFlowRun(pass: FlowContext, overrides: Overrides): FlowRun {
  const { state, crew: flow, signal, request, now } = pass
  const definitions = new WeakMap<Crew, CrewDefinition>()
  const definitionOf = (crew: Crew): CrewDefinition => {
    let definition = definitions.get(crew)
    if (!definition) definitions.set(crew, (definition = crew['~definition'](overrides)))
    return definition
  }

  /** Requests a step. Bad options reject, as a failed step does. */
  const requested = (make: () => StepRequest): Promise<unknown> => handled(Promise.try(() => request(make())))

  const waitFor = (
    name: unknown,
    { key, signal: stop }: { readonly key: unknown; readonly signal: AbortSignal | undefined },
    schema: Pick<AnswerSchema, 'validate'> | undefined,
    work: Wait,
  ): StepRequest => ({
    name: stepName(name, key),
    was: [],
    work,
    signal: stop,
    read: async (raw, structured) => (schema ? parsed(schema, raw, structured) : undefined),
  })

  const step = (name: unknown, second: unknown, third?: unknown): StepRequest => {
    const run = (third ?? second) as (...given: unknown[]) => unknown
    const options = readStepOptions(name, third === undefined ? {} : second)
    if (typeof run !== 'function') throw wrong(`the function of step ${describe(name)}`, run, 'a function')
    const { key, was, effect, settle, maxSeconds, output, version, retries, input, signal: stop } = options
    const path = stepName(name, key)
    const schema = output === undefined ? undefined : schemaOf(output, `the output of step ${String(name)}`)
    const given = input === undefined ? undefined : jsonOf(input, `the input of step ${path}`)
    const task = defineFunctionStep({
      name: path,
      code: {
        effect,
        versioned: version !== undefined,
        maxSeconds,
        settle:
          settle &&
          ((idempotencyKey, changed = given) =>
            settle(idempotencyKey, changed === undefined ? undefined : copyOf(changed))),
        run: (context, changed = given) => {
          const outside: ToolContext = stepContext(context)
          return changed === undefined ? run(outside) : run(copyOf(changed), outside)
        },
        input: given === undefined ? undefined : anyInput,
      },
      schema,
      version,
      input: given,
    })
    return {
      name: path,
      was: was.map((old) => stepName(old, key)),
      work: retries ? { ...task, stepRetries: retries } : task,
      signal: stop,
      read: async (raw, structured) => (schema ? parsed(schema, raw, structured) : structured ? readJson(raw) : raw),
    }
  }

  const runCrew = (
    crew: Crew,
    inputs: unknown,
    options: unknown,
    ownName: string,
    wording?: readonly string[],
  ): StepRequest => {
    const { name = ownName, key, was, signal: stop } = runOptions(options)
    const path = stepName(name, key)
    const given = (inputs ?? {}) as { readonly [input: string]: Json }
    const label = `the inputs of step ${path}`
    const child = defineChild(
      { name: path, schema: undefined },
      { crew: { '~definition': () => definitionOf(crew) }, inputs: given },
      overrides,
    )
    const task = defineChildStep(path, { ...child, ...defined({ wording }) }, hashedInputs(given, label))
    return {
      name: path,
      was: was.map((old) => stepName(old, key)),
      work: task,
      signal: stop,
      async read(raw, structured, { output: stored, attempts }) {
        const output =
          stored && raw !== '' ? await outputOf(task, { raw, structured, within: stored.within }) : undefined
        const runId = state.attempts.get(attempts.at(-1) ?? '')?.child ?? stored?.within ?? ''
        return { raw, output, runId, usage: { ...stored?.usage }, toString: () => raw }
      },
    }
  }

  const runTool = (given: Tool<unknown>, input: unknown, options: unknown): StepRequest => {
    const tool: Tool<unknown> = overrides.tools?.get(given.name) ?? given
    const { name = tool.name, key, was, signal: stop } = runOptions(options)
    const path = stepName(name, key)
    const json = jsonOf(input, `the input of step ${path}`)
    const parse = async (changed: Json = json): Promise<unknown> => {
      const read = await parseValue(tool.schema, copyOf(changed))
      if (read.ok) return read.value
      throw new RepriseError('INPUT_INVALID', `the input of tool ${tool.name} is not valid: ${read.reason}`)
    }
    const task = defineFunctionStep({
      name: path,
      code: {
        effect: tool.effect,
        versioned: tool.version !== undefined,
        maxSeconds: tool.maxSeconds,
        settle: tool.settles
          ? async (idempotencyKey, changed) => tool.settle(idempotencyKey, await parse(changed))
          : undefined,
        approval: tool.asks === undefined ? undefined : async () => tool.approval(await parse()),
        run: async (context, changed) => tool.run(await parse(changed), stepContext(context)),
        input: tool.schema,
      },
      schema: undefined,
      version: tool.version,
      input: json,
    })
    return {
      name: path,
      was: was.map((old) => stepName(old, key)),
      work: task,
      signal: stop,
      read: async (raw, structured) => (structured ? readJson(raw) : raw),
    }
  }

  const run = (what: unknown, given: unknown, options: unknown): StepRequest => {
    if (Crew.isInstance(what)) return runCrew(what, given, options, what.name)
    if (isAgent(what)) return runAgent(what, given, options)
    if (isTool(what)) return runTool(what, given, options)
    throw wrong('what to run', what, 'a crew, a flow, an agent or a tool')
  }

  const runAgent = (agent: Agent, prompt: unknown, options: unknown): StepRequest => {
    const { output, tools, inputs, ...rest } = (isRecord(options) ? options : {}) as {
      readonly [option: string]: never
    }
    const crew = agentCrew(agent, { ...(output ? { output } : {}), ...(tools ? { tools } : {}) })
    return runCrew(crew, agentInputs(agent, prompt, inputs), rest, agent.role, ['prompt'])
  }

  const ask = (name: unknown, question: unknown, given: unknown, options: unknown): StepRequest => {
    const { until, ...waiting } = waitOptions('ask', options)
    const { text, about } = readQuestion(name, question)
    const schema = given === undefined ? anyText : schemaOf(given, `the answer to ${String(name)}`)
    const work: Wait = {
      wait: 'question',
      text,
      about,
      schema: schema.json,
      check: async (value) => checked(schema, value),
      ...(until ? { until } : {}),
    }
    return waitFor(name, waiting, schema, work)
  }

  const event = (name: unknown, given: unknown, options: unknown): StepRequest => {
    const { until, ...waiting } = waitOptions('event', options)
    const schema = schemaOf(given, `event ${String(name)}`)
    const check = async (value: Json) => checked(schema, value)
    const work: Wait = { wait: 'event', event: stepName(name, undefined), check, ...(until ? { until } : {}) }
    return waitFor(name, waiting, schema, work)
  }

  const seeded = (what: string, name: unknown, options: { readonly key?: unknown } = {}): string => {
    checkKeys(what, options, ['key'])
    return stableId(what, state.seed ?? state.incarnation, stepName(name, options.key))
  }

  const again = async (given: unknown): Promise<never> => {
    if (parentRunId(state.run) !== undefined) {
      const words = `flow.again ends a run, but run ${state.run} is part of run ${rootRunId(state.run)}; use a loop`
      throw new RepriseError('OPTION_INVALID', words, { runId: state.run })
    }
    const raw = await readRawInputs(given, 'the inputs of flow.again')
    pass.again(await prepareInputs(flow, resolveInputs(raw, state.inputs), raw.files))
    return new Promise<never>(() => {})
  }

  const methods = {
    again: (given: unknown) => handled(again(given)),
    inputs: plainInputs(state.inputs),
    runId: state.run,
    signal,
    step: (name: unknown, second: unknown, third?: unknown) => requested(() => step(name, second, third)),
    run: (what: unknown, given: unknown, options?: unknown) => requested(() => run(what, given, options)),
    ask: (name: unknown, question: unknown, schema?: unknown, options?: unknown) =>
      requested(() => ask(name, question, schema, options)),
    event: (name: unknown, schema: unknown, options?: unknown) => requested(() => event(name, schema, options)),
    sleep: (name: unknown, time: unknown, options?: unknown) =>
      requested(() => {
        const waiting = sleepOptions(options)
        return waitFor(name, waiting, undefined, { wait: 'sleep', until: sleepEnd(time) })
      }),
    now,
    random: (name: unknown, options?: { readonly key?: unknown }) =>
      Number.parseInt(seeded('random', name, options).replaceAll('-', '').slice(0, 12), 16) / 2 ** 48,
    uuid: (name: unknown, options?: { readonly key?: unknown }) => seeded('uuid', name, options),
  }
  const flowRun = methods as unknown as FlowRun
  parts.set(flowRun, { pass, overrides, crewStep: runCrew })
  return flowRun
}

/** What conversations build their steps from. */
export interface FlowParts {
  readonly pass: FlowContext
  readonly overrides: Overrides
  crewStep(crew: Crew, inputs: unknown, options: unknown, ownName: string): StepRequest
}

const parts = new WeakMap<FlowRun, FlowParts>()

export function partsOf(flow: FlowRun): FlowParts {
  return parts.get(flow) as FlowParts
}

function stepContext({ idempotencyKey, signal, runId, task, readFile }: ToolContext): ToolContext {
  return { idempotencyKey, signal, runId, task, readFile }
}

function isTool(value: unknown): value is Tool<unknown> {
  const { name, run, schema, effect } = (value ?? {}) as Partial<Tool>
  return typeof name === 'string' && typeof run === 'function' && schema !== undefined && effect !== undefined
}

/** Returns the value as JSON. Throws INPUT_INVALID. */
function jsonOf(value: unknown, what: string): Json {
  const json = strictJson(value, what)
  if (json.ok) return json.value
  const words = `${json.path} is ${json.found}, which is not valid JSON; give strings, numbers, lists or plain objects`
  throw new RepriseError('INPUT_INVALID', words)
}

/** A copy, so that a function that changes its input doesn't change the record. */
function copyOf(json: Json): Json {
  return structuredClone(json)
}

async function checked(
  schema: Pick<AnswerSchema, 'validate'>,
  value: Json,
): Promise<{ ok: true } | { ok: false; reason: string }> {
  const read = await parseValue(schema, value)
  return read.ok ? { ok: true } : read
}

/** Parses a recorded value. Rejects with Misfit. */
async function parsed(schema: Pick<AnswerSchema, 'validate'>, raw: string, structured: boolean): Promise<unknown> {
  const read = await parseValue(schema, (structured ? readJson(raw) : raw) as Json)
  if (read.ok) return read.value
  throw new Misfit(read.reason)
}

/** Parses the output of a child run. Rejects with Misfit. */
async function outputOf(
  task: TaskDefinition,
  stored: { readonly raw: string; readonly structured: boolean; readonly within?: string | undefined },
): Promise<unknown> {
  const { raw, structured, within } = stored
  if (task.schema && structured && within === undefined) return parsed(task.schema, raw, true)
  return parsedOutput({ raw, structured, ...(within === undefined ? {} : { within }) }, task)
}

function readQuestion(name: unknown, question: unknown): { readonly text: string; readonly about: Json | undefined } {
  if (typeof question === 'string' && question.trim() !== '') return { text: question, about: undefined }
  if (!isRecord(question) || typeof question['text'] !== 'string')
    throw wrong(`the question of step ${describe(name)}`, question, 'a text, or { text, about }')
  checkKeys('ask', question, ['text', 'about'])
  const { text, about } = question
  return { text, about: about === undefined ? undefined : jsonOf(about, `about of question ${String(name)}`) }
}
