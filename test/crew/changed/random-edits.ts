// Random tasks of a crew, as code declares them, and the changes that people make to such code.
import { Agent, Crew, Task, tool, type Effect } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Random } from '../../storm/random.ts'

/** A task as the code declares it. */
export interface Step {
  readonly name: string
  readonly was?: string | undefined
  readonly kind: Kind
  /** The external effect of the task. */
  readonly id: string
  readonly tool: { readonly name: string; readonly was?: string; readonly effect: Effect; readonly approval: boolean }
  readonly humanInput: boolean
  readonly text: number
  /** Tasks of the nested crew, or of the crews that its function kicks off. */
  readonly inner: readonly Step[]
  readonly kickoffs: Kickoffs
}

type Kind = 'agent' | 'function' | 'crew' | 'kickoffs'

/** How a function kicks off the crews of its inner tasks. */
interface Kickoffs {
  readonly crew: string
  readonly byId: boolean
  readonly atOnce: boolean
  /** Whether the function catches failures of its kickoffs. */
  readonly catching: boolean
  /** One kickoff for each task, or one for all. */
  readonly many: boolean
  readonly effect: Effect
}

/** What the person who made the edits knows about them. */
export interface Edited {
  readonly steps: readonly Step[]
  /** New names by old ones, with the tasks of the nested crew that they are in. */
  readonly renamed: ReadonlyMap<string, string>
  /** New names of tasks in kickoffs, which have no address before the function is called. */
  readonly kickedOff: ReadonlyMap<string, string>
}

export const quiet = { info() {}, warn() {} }

export function randomStep(random: Random, name: string, depth = 0): Step {
  const kinds: readonly Kind[] = [
    ['agent', 'agent', 'function', 'crew', 'kickoffs', 'kickoffs'] as const,
    ['agent', 'agent', 'function', 'function', 'kickoffs'] as const,
    ['agent', 'function'] as const,
  ][depth] as readonly Kind[]
  return {
    name,
    kind: random.pick(kinds),
    id: `do-${name}`,
    tool: { name: `use_${name}`, effect: 'once', approval: random.chance(0.3) },
    humanInput: random.chance(0.2),
    text: 1,
    inner: depth < 2 ? [1, 2].map((number) => randomStep(random, `${name}${number}`, depth + 1)) : [],
    kickoffs: {
      crew: 'inner',
      byId: random.chance(0.5),
      atOnce: random.chance(0.3),
      catching: random.chance(0.3),
      many: random.chance(0.5),
      effect: random.chance(0.8) ? 'idempotent' : 'once',
    },
  }
}

export function tasksOf(steps: readonly Step[], ledger: string[]): Task[] {
  return steps.map((step) => taskOf(step, ledger))
}

function taskOf(step: Step, ledger: string[]): Task {
  const { name, was, kind, id, tool: use, humanInput, text, inner } = step
  const named = { name, ...(was === undefined ? {} : { was }) }
  if (kind === 'function') return new Task({ ...named, run: () => ({ did: (ledger.push(id), id) }) })
  if (kind === 'crew')
    return new Task({ ...named, crew: new Crew({ name: 'inner', tasks: tasksOf(inner, ledger), logger: quiet }) })
  if (kind === 'kickoffs') {
    const { effect } = step.kickoffs
    return new Task({ ...named, effect, run: ({ runId }) => kickOff(step, runId, ledger) })
  }
  const model = scriptedModel([
    { when: 'Task: Use', after: 0, calls: [{ tool: use.name, input: { id } }] },
    { when: 'Task: Use', reply: (asked) => `done ${/Use (\S+)/.exec(asked)?.[1]}` },
  ])
  const made = tool({
    name: use.name,
    ...(use.was === undefined ? {} : { was: use.was }),
    description: 'Does it',
    input: z.object({ id: z.string() }),
    effect: use.effect,
    approval: use.approval,
    run: (input) => ({ did: (ledger.push(input.id), input.id) }),
  })
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [made] })
  return new Task({ ...named, description: `Use ${id} v${text}`, agent, humanInput, context: [] })
}

async function kickOff({ inner, kickoffs }: Step, runId: string, ledger: string[]): Promise<string[]> {
  const { crew: name, byId, atOnce, catching, many } = kickoffs
  const groups = many ? inner.map((one) => [one]) : [inner]
  const begin = groups.map((group, number) => async (): Promise<string> => {
    const inputs = z.object({ number: z.number() })
    const crew = new Crew({ name, inputs, tasks: tasksOf(group, ledger), logger: quiet })
    const kickoff = crew.kickoff({ inputs: { number }, ...(byId ? { id: `${runId}-${name}-${number}` } : {}) })
    return String(await (catching ? kickoff.catch((error: unknown) => `no result: ${String(error)}`) : kickoff))
  })
  if (atOnce) return Promise.all(begin.map((kickoff) => kickoff()))
  const results: string[] = []
  for (const kickoff of begin) results.push(await kickoff())
  return results
}

interface Editing {
  readonly random: Random
  readonly told: string[]
  readonly givenUp: Set<string>
  readonly at?: number | undefined
}

/** One plausible change of the code. */
export function edit(
  steps: readonly Step[],
  { random, told, givenUp, at = random.below(steps.length) }: Editing,
  relabelled: (id: string) => void,
): Edited {
  const step = steps[at] as Step
  const put = (...made: Step[]): readonly Step[] => steps.toSpliced(at, 1, ...made)
  const kept = (next: readonly Step[], words: string): Edited => {
    told.push(`  edit: ${words}`)
    return { steps: next, renamed: new Map(), kickedOff: new Map() }
  }
  const fresh = `${step.name}x`
  const within = step.kind === 'kickoffs' && random.chance(0.5)
  switch (within ? 8 : random.pick([0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 7, 7, 8, 8, 9, 10])) {
    case 0: {
      const declared = random.chance(0.5)
      told.push(`  edit: ${step.name} is ${fresh} now${declared ? ', as `was` says' : ''}`)
      const made = declared ? { ...step, name: fresh, was: step.name } : { ...step, name: fresh, was: undefined }
      return { steps: put(made), renamed: new Map(declared ? [] : [[step.name, fresh]]), kickedOff: new Map() }
    }
    case 1:
      return steps.length > 1 ? kept(put(), `${step.name} is removed`) : kept(steps, 'nothing')
    case 2:
      return kept(
        steps.toSpliced(at, 0, randomStep(random, `${fresh}n${told.length}`, 2)),
        `a task before ${step.name}`,
      )
    case 3:
      return kept(steps.toReversed(), 'reversed')
    case 4: {
      const kind = random.pick(otherKinds[step.kind])
      return kept(put({ ...step, kind }), `${step.name} is of kind ${kind} now`)
    }
    case 5:
      return kept(
        put(
          { ...step, was: undefined, name: `${step.name}p`, kind: 'function', id: `do-${step.name}p` },
          { ...step, name: fresh },
        ),
        `${step.name} is split`,
      )
    case 6: {
      const declared = random.chance(0.5)
      const { name } = step.tool
      const renamedTool = { ...step.tool, name: `${name}x`, ...(declared ? { was: name } : {}) }
      return kept(put({ ...step, tool: renamedTool }), `tool ${name} is renamed${declared ? ', as `was` says' : ''}`)
    }
    case 7: {
      relabelled(step.id)
      return kept(
        put({ ...step, tool: { ...step.tool, effect: random.pick(['read', 'idempotent'] as const) } }),
        `the tool of ${step.name} is relabelled`,
      )
    }
    case 8: {
      if (step.kind !== 'crew' && step.kind !== 'kickoffs')
        return kept(put({ ...step, text: step.text + 1 }), `text of ${step.name}`)
      const { steps: inner, renamed, kickedOff } = edit(step.inner, { random, told, givenUp }, relabelled)
      if (inner.length === 0) return kept(steps, 'nothing')
      // with a task less there is a kickoff less: the last one is abandoned, and its questions are dropped
      if (step.kind === 'kickoffs' && step.kickoffs.many && inner.length < step.inner.length)
        for (const { name } of allSteps(step.inner.slice(-1))) givenUp.add(name)
      const next = put({ ...step, inner })
      if (step.kind === 'kickoffs')
        return { steps: next, renamed: new Map(), kickedOff: new Map([...renamed, ...kickedOff]) }
      return {
        steps: next,
        renamed: new Map([...renamed].map(([old, now]) => [`${step.name}/${old}`, now])),
        kickedOff,
      }
    }
    case 9: {
      // its earlier kickoff is abandoned: its calls ask a person, its questions are dropped
      const crew = `${step.kickoffs.crew}x`
      if (step.kind !== 'kickoffs') return kept(steps, 'nothing')
      for (const { name } of allSteps(step.inner)) givenUp.add(name)
      return kept(put({ ...step, kickoffs: { ...step.kickoffs, crew } }), `${step.name} kicks off crew ${crew} now`)
    }
    default:
      return kept(put({ ...step, text: step.text + 1 }), `text of ${step.name}`)
  }
}

const otherKinds: { readonly [kind in Kind]: readonly Kind[] } = {
  agent: ['function'],
  function: ['agent'],
  crew: ['agent', 'kickoffs'],
  kickoffs: ['agent', 'crew', 'crew'],
}

/** Includes inner steps at every depth. */
export function allSteps(steps: readonly Step[]): readonly Step[] {
  return steps.flatMap((step) => [step, ...allSteps(step.inner)])
}

export function stepWords(steps: readonly Step[]): string {
  return steps
    .map(
      ({ name, kind, tool: { effect }, inner }) =>
        `${name}:${kind}:${effect}${kind === 'crew' || kind === 'kickoffs' ? `(${stepWords(inner)})` : ''}`,
    )
    .join(' ')
}
