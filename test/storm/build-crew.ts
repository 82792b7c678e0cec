// Builds the crew that a plan describes. Its code is deterministic, and writes its effects to the ledger.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, Crew, Task, tool, type CodeContext, type ConditionContext, type Tool } from 'reprise'
import { z } from 'zod'
import type { Json } from 'reprise/journal'
import type { Store } from '../../src/stores/store.ts'
import { toolKinds, type CrewPlan, type TaskPlan, type ToolPlan } from './crew-plan.ts'
import { doneWith, type Effect, type Ledger } from './ledger.ts'
import { isGood, stormModel } from './model.ts'
import { choiceOf, hashOf } from './random.ts'

const quiet = { info() {}, warn() {} }
/** Inputs. A text uses one of them, or none. */
const bothInputs = z.object({ in0: z.string(), in1: z.string() })
const answer = z.object({ name: z.string(), is: z.number(), tries: z.number() })

export function buildCrew(plan: CrewPlan, ledger: Ledger, store?: Store, within = ''): Crew {
  const model = stormModel(ledger)
  const tasks: Task[] = []
  const helper = new Agent({
    role: 'Helper',
    goal: 'Help',
    model,
    tools: [toolOf({ name: 'put', times: 1, version: 0 }, ledger, within)],
  })
  const agents = new Set<Agent>([helper])
  for (const planned of plan.tasks) {
    const path = `${within}${planned.name}`
    const context = planned.context && { context: tasks.filter(({ name }) => planned.context?.includes(name)) }
    const common = {
      name: planned.name,
      ...context,
      ...(planned.async ? { async: true } : {}),
      ...(planned.condition ? { when: holds } : {}),
      ...(planned.file ? { outputFile: `out/${path.replaceAll('/', '-')}.txt` } : {}),
      ...(planned.callback
        ? {
            callback: (_: unknown, { runId }: { runId: string }) => ledger.note({ what: 'callback', run: runId, path }),
          }
        : {}),
    }
    if (planned.crew) {
      tasks.push(crewTask(planned, common, buildCrew(planned.crew, ledger, undefined, `${path}/`)))
    } else if (planned.kind === 'code') {
      tasks.push(codeTask(planned, common, ledger, path))
    } else {
      const { delegates } = planned
      const worker = new Agent({ role: `W${planned.name}`, goal: 'Work', model, allowDelegation: delegates })
      if (plan.process !== 'hierarchical') agents.add(worker)
      tasks.push(
        new Task({
          ...common,
          description: textOf(planned),
          agent: plan.process === 'hierarchical' ? helper : worker,
          tools: planned.tools.map((one) => toolOf(one, ledger, path)),
          humanInput: planned.human,
          ...(planned.structured ? { output: answer } : {}),
          ...(planned.guardrail ? { guardrails: planned.guardrail === 'sentence' ? 'It is not rough' : notRough } : {}),
        }),
      )
    }
  }
  const { name, process } = plan
  const manager = process === 'hierarchical' ? { manager: new Agent({ role: 'Manager', goal: 'Manage', model }) } : {}
  return new Crew({
    name,
    tasks,
    inputs: bothInputs,
    process,
    agents: [...agents],
    ...manager,
    logger: quiet,
    ...(store ? { store } : {}),
  })
}

function textOf({ name, text, tools, answers, structured, delegates, uses }: TaskPlan): string {
  const calls = tools.map((one) => `${one.name}*${one.times}`).join(',')
  const form = structured ? 'json' : 'plain'
  const given = uses.map((input) => `{${input}}`).join(' ')
  return `T ${name} v${text} calls=${calls} answers=${answers} ${form} ${delegates ? 'together' : 'alone'} ${given}`
}

function holds({ inputs, outputs }: ConditionContext): boolean {
  return choiceOf([inputs, outputs], 3) > 0
}

function notRough({ raw }: { readonly raw: string }): true | string {
  return isGood(raw) || 'it is rough'
}

/**
 * The result of a `once` tool does not depend on its version, since a recorded result replaces a call of any version.
 */
function toolOf({ name, version }: ToolPlan, ledger: Ledger, path: string): Tool {
  const kind: { effect: Effect['effect']; approval?: boolean; settles?: boolean } = toolKinds[name]
  const resultOf = (input: Json): string => `${name}:${hashOf([input, kind.effect === 'once' ? 0 : version])}`
  return tool({
    name,
    description: `To ${name}`,
    effect: toolKinds[name].effect,
    input: z.object({ n: z.number(), of: z.number() }),
    version: String(version),
    ...(kind.approval ? { approval: true } : {}),
    ...(kind.settles ? { settle: (key: string, input: Json) => settled(ledger, key, resultOf(input)) } : {}),
    run(input, { runId: run, idempotencyKey: key }) {
      const result = resultOf(input)
      ledger.note({ what: 'effect', run, path, tool: name, effect: kind.effect, key, input, result })
      return result
    },
  })
}

function settled(ledger: Ledger, key: string, result: string) {
  const happened = doneWith(key, ledger.all()).length > 0
  return happened ? ({ happened, result } as const) : ({ happened } as const)
}

function codeTask(
  { answers, structured, effect, settles, fails, version }: TaskPlan,
  common: { name: string },
  ledger: Ledger,
  path: string,
): Task {
  const { name } = common
  return new Task({
    ...common,
    effect,
    version: String(version),
    ...(settles && effect === 'once'
      ? {
          settle(key: string) {
            const [done] = doneWith(key, ledger.all())
            return done ? { happened: true as const, result: done.result } : { happened: false as const }
          },
        }
      : {}),
    run({ inputs, outputs, runId: run, idempotencyKey: key }: CodeContext) {
      if (fails && existsSync(join(ledger.folder, 'out-of-order'))) throw new Error('the world is out of order')
      const input = [inputs, outputs, version] as Json
      const is = choiceOf(input, answers)
      const result = structured ? { name, is, tries: 0 } : `${name}=${is}`
      ledger.note({ what: 'effect', run, path, tool: name, effect, key, input, result })
      return result
    },
  })
}

function crewTask({ given, version }: TaskPlan, common: { name: string }, crew: Crew): Task {
  const fixed = { in0: 'fixed', in1: 'fixed' }
  const made = ({ inputs, outputs }: ConditionContext) => ({
    in0: `made ${choiceOf([inputs, outputs], 2)}`,
    in1: 'made',
  })
  const inputs = given === 'own' ? {} : { inputs: given === 'fixed' ? fixed : made }
  return new Task({ ...common, crew, version: String(version), ...inputs })
}
