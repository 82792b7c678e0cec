// Builds a flow that executes a program. Its steps record their effects in the ledger, and check that they may happen.
import { Agent, Crew, Flow, Task } from 'reprise'
import { z } from 'zod'
import type { FlowRun } from '../../../src/crew/flow/flow-types.ts'
import type { Json } from '../../../src/journal/json.ts'
import type { Settlement, ToolContext } from '../../../src/tools/tool.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { quiet } from '../support.ts'
import {
  Broken,
  eventKey,
  interpret,
  labelOf,
  pathOf,
  resultOf,
  saidOf,
  slept,
  stampOf,
  textOf,
  timedOut,
  type Requests,
} from './interpret.ts'
import type { Block, CrewNode, FlowNode, RequestNode, StepNode } from './program.ts'
import type { Process } from './process.ts'
import type { Pass, Scene } from './scene.ts'

const inputs = z.object({ given: z.string() })
const goodAnswer = z.string().refine((text) => text.startsWith('ok'), 'it does not begin with ok')

export interface Building {
  readonly scene: Scene
  readonly process: Process
  readonly concurrency: number
  readonly version: string
}

export type ProgramFlow = Flow<typeof inputs, string>

export function buildFlow(building: Building, program: Block = building.scene.program, name = 'root'): ProgramFlow {
  const { scene, process, concurrency } = building
  const children = new Map<string, Crew | ProgramFlow>()
  const childOf = (node: CrewNode | FlowNode): Crew | ProgramFlow => {
    const known =
      children.get(node.name) ??
      (node.type === 'crew' ? buildCrew(building, node) : buildFlow(building, node.body, node.name))
    children.set(node.name, known)
    return known
  }
  const options = {
    name,
    inputs,
    store: process.store,
    logger: quiet,
    concurrency,
    '~world': process.world,
    run(flow: FlowRun<{ given: string }>): Promise<string> {
      const { runId } = flow
      const pass: Pass = { run: runId, process, after: scene.journal(runId).entries, deliveries: [] }
      if (!process.isDead) scene.passes.push(pass)
      const requests: Requests = {
        now: () => String(flow.now().getTime()),
        random(node, key) {
          const path = pathOf(node, key)
          const number = String(flow.random(node.name, key === '' ? {} : { key }))
          const known = scene.chances.get(`${runId} ${path}`) ?? number
          scene.chances.set(`${runId} ${path}`, known)
          if (known !== number) scene.problems.add(`random ${path} was ${known}, and is ${number}`)
          return number
        },
        request(node, key, input) {
          const received = execute({ ...building, flow, childOf }, node, key, input)
          const path = pathOf(node, key)
          received.then(
            (value) => process.isDead || pass.deliveries.push([path, value]),
            (error: unknown) => process.isDead || pass.deliveries.push([path, `fails: ${labelOf(error)}`]),
          )
          return received
        },
      }
      return interpret(program, requests, flow.inputs.given)
    },
  }
  return new Flow(options)
}

interface Execution extends Building {
  readonly flow: FlowRun<{ given: string }>
  childOf(node: CrewNode | FlowNode): Crew | ProgramFlow
}

async function execute(execution: Execution, node: RequestNode, key: string, input: string): Promise<string> {
  const { flow, childOf } = execution
  const keyed = key === '' ? {} : { key }
  const timeout = (ms: number | undefined) => (ms === undefined ? {} : { timeout: { seconds: ms / 1_000 } })
  switch (node.type) {
    case 'step':
      return textOf(await step(execution, node, key, input))
    case 'crew': {
      const { raw } = await flow.run(
        childOf(node) as Crew,
        { word: input },
        {
          name: node.name,
          ...keyed,
        },
      )
      return raw
    }
    case 'flow': {
      const { output } = await flow.run(childOf(node) as ProgramFlow, { given: input }, { name: node.name, ...keyed })
      return output
    }
    case 'ask': {
      const options = { ...keyed, ...timeout(node.timeout) }
      return (await flow.ask(node.name, `${node.name}?`, goodAnswer, options as { timeout: object })) ?? timedOut
    }
    case 'event': {
      const options = { key: eventKey(node, key), ...timeout(node.timeout) }
      return (await flow.event(node.event, z.string(), options as { timeout: object; key: string })) ?? timedOut
    }
    case 'sleep':
      await flow.sleep(node.name, { seconds: node.ms / 1_000 }, keyed)
      return slept
  }
}

function step(execution: Execution, node: StepNode, key: string, input: string): Promise<Json> {
  const { flow, scene, version } = execution
  const { runId } = flow
  const { effect, settles, retries, declares } = node
  const place = `${runId} ${pathOf(node, key)}`
  const settle = (idempotencyKey: string): Settlement | undefined =>
    settles === 'by the ledger' ? scene.ledger.settlement([place], idempotencyKey) : undefined
  const options = {
    effect,
    version,
    ...(key === '' ? {} : { key }),
    ...(settles === undefined ? {} : { settle }),
    ...(retries === 0 ? {} : { retries: { times: retries, backoff: 0.05 } }),
  }
  const call = async ({ idempotencyKey, signal }: Pick<ToolContext, 'idempotencyKey' | 'signal'>): Promise<Json> => {
    const result = resultOf(node, key, input)
    await effectOf(execution, { node, run: runId, path: pathOf(node, key), idempotencyKey, signal, input, result })
    return node.shape === 'nothing' ? (undefined as never) : result
  }
  return declares
    ? flow.step(node.name, { ...options, input }, (_: string, context) => call(context))
    : flow.step(node.name, options, call)
}

interface StepCall {
  readonly node: Pick<StepNode, 'name' | 'effect' | 'ms' | 'fails'>
  readonly run: string
  readonly path: string
  readonly idempotencyKey: string
  readonly signal: AbortSignal
  readonly input: string
  readonly result: Json
}

/** Has the effect of a step, unless the process is dead. */
async function effectOf(
  { scene, process }: Building,
  { node, run, path, idempotencyKey, signal, input, result }: StepCall,
): Promise<void> {
  const never = new Promise<never>(() => {})
  if (process.isDead) return never
  const { ledger, problems } = scene
  const place = `${run} ${path}`
  const journal = scene.journal(run)
  const { result: recorded, version = 0, attempts = 0 } = journal.steps.get(path) ?? {}
  if (recorded) problems.add(`step ${place} is executed although its result is recorded`)
  if (process.returned.get(place) === version) problems.add(`step ${place} is executed twice by one process`)
  const count = ledger.execute(place)
  const same = ledger.calls(place).find(({ attempt }) => attempt === attempts)
  if (node.effect !== 'read' && same && same.idempotencyKey !== idempotencyKey)
    problems.add(`step ${place} has another idempotency key after an interruption`)
  const call = ledger.begin(place, attempts, idempotencyKey)
  await process.sleep(node.ms[0])
  if (count <= node.fails) throw new Broken(node.name)
  if (node.effect === 'once') {
    const most = journal.isTouched ? 1 + ledger.approvals(place) : 1
    if (ledger.happen(place, input) > most) problems.add(`step ${place} has its effect twice`)
  }
  call.effect = { result }
  await process.sleep(node.ms[1])
  if (!signal.aborted) process.returned.set(place, version)
}

/** An agent, then a function that must not run twice. */
function buildCrew(building: Building, node: CrewNode): Crew {
  const { scene, process } = building
  const scripted = scriptedModel([
    { when: /Shout/, reply: (conversation) => saidOf(/<(.*?)>/.exec(conversation)?.[1] ?? '?') },
  ])
  const model: typeof scripted = {
    ...scripted,
    async doGenerate(...given) {
      await process.sleep(node.ms)
      return scripted.doGenerate(...given)
    },
  }
  const agent = new Agent({ role: 'Shouter', goal: 'g', model })
  const say = new Task({ name: 'say', description: 'Shout <{word}>', agent })
  const stamp = new Task({
    name: 'stamp',
    context: [say],
    settle: (idempotencyKey) =>
      scene.ledger.settlement(
        [...scene.journals().keys()].map((run) => `${run} stamp`),
        idempotencyKey,
      ),
    async run({ outputs, idempotencyKey, signal, runId }) {
      const { say: input } = outputs
      const result = stampOf(input)
      const { name, ms, fails } = node
      const work = { name, effect: 'once', ms: [ms, 0], fails } as const
      await effectOf(building, { node: work, run: runId, path: 'stamp', idempotencyKey, signal, input, result })
      return result
    },
  })
  const options = { name: node.name, tasks: [say, stamp], store: process.store, logger: quiet }
  return new Crew({ ...options, '~world': process.world } as typeof options)
}
