// Random programs for flows, as data: sequences, loops, branches, groups of parallel branches, caught errors, unawaited
// work. interpret.ts executes them, with a flow or without one.
import fc from 'fast-check'
import type { Effect } from 'reprise'

/** The earlier values that a request depends on. */
type Uses = 'all' | 'last' | 'none'

/** Fails in its first `fails` executions. Infinity: in all. */
interface MayFail {
  readonly fails: number
}

/** A step that calls a function. */
export interface StepNode extends MayFail {
  readonly type: 'step'
  readonly name: string
  readonly effect: Effect
  readonly uses: Uses
  /** The step declares its input. */
  readonly declares: boolean
  /** How long the function takes before and after its effect, in ms. */
  readonly ms: readonly [number, number]
  readonly retries: number
  /** What the function returns. */
  readonly shape: 'text' | 'object' | 'nothing'
  /** How `settle` determines whether an interrupted call happened. */
  readonly settles: 'by the ledger' | 'it cannot tell' | undefined
}

/** A child crew: an agent, then a function that must not run twice. */
export interface CrewNode extends MayFail {
  readonly type: 'crew'
  readonly name: string
  readonly uses: Uses
  readonly ms: number
}

/** A child flow. */
export interface FlowNode {
  readonly type: 'flow'
  readonly name: string
  readonly uses: Uses
  readonly body: Block
}

export interface AskNode {
  readonly type: 'ask'
  readonly name: string
  readonly uses: 'none'
  readonly timeout: number | undefined
}

export interface EventNode {
  readonly type: 'event'
  readonly name: string
  readonly uses: 'none'
  readonly event: EventName
  readonly timeout: number | undefined
}

export interface SleepNode {
  readonly type: 'sleep'
  readonly name: string
  readonly uses: 'none'
  readonly ms: number
}

/** Everything that a flow can await. */
export type RequestNode = StepNode | CrewNode | FlowNode | AskNode | EventNode | SleepNode

export interface ChanceNode {
  readonly type: 'chance'
  readonly name: string
}

type Group = 'all' | 'race' | 'any' | 'settled' | 'order'

export type Node =
  | RequestNode
  | ChanceNode
  | { readonly type: 'clock' }
  /** Awaits that many microtasks, as nested async functions do. */
  | { readonly type: 'hops'; readonly count: number }
  /** `varies`: the number of rounds depends on earlier values. */
  | { readonly type: 'loop'; readonly times: number; readonly varies: boolean; readonly body: Block }
  | { readonly type: 'if'; readonly even: Block; readonly odd: Block }
  | { readonly type: 'group'; readonly how: Group; readonly branches: readonly Block[] }
  | {
      readonly type: 'try'
      readonly body: Block
      readonly handler: Block
      /** The value depends on the error. */
      readonly seesError: boolean
      readonly rethrows: boolean
    }
  /** Work in the background. With `joins`, the block awaits it at its end. */
  | { readonly type: 'later'; readonly body: Block; readonly joins: boolean }
  /** The program itself throws. */
  | { readonly type: 'fail'; readonly name: string }

export type Block = readonly Node[]

export const eventNames = ['e0', 'e1'] as const
type EventName = (typeof eventNames)[number]

// Generating.

const name = fc.constant('')
const uses = fc.constantFrom<Uses>('all', 'all', 'last', 'none')
const ms = fc.constantFrom(0, 0, 1, 5, 20, 200)
const fails = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, Infinity)
const timeout = fc.constantFrom(undefined, undefined, 0, 20, 400, 90_000)
const most = { maxLength: 3 }

const step: fc.Arbitrary<Node> = fc.record({
  type: fc.constant('step'),
  name,
  effect: fc.constantFrom<Effect>('read', 'idempotent', 'once'),
  uses,
  declares: fc.boolean(),
  ms: fc.tuple(ms, ms),
  fails,
  retries: fc.constantFrom(0, 0, 0, 1, 2),
  shape: fc.constantFrom('text', 'text', 'text', 'object', 'nothing'),
  settles: fc.constantFrom('by the ledger', 'by the ledger', 'it cannot tell', undefined),
})

const { block: blocks } = fc.letrec<{ block: Block; node: Node }>((tie) => ({
  block: fc.array(tie('node'), { minLength: 1, ...most }),
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
    { weight: 10, arbitrary: step },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('crew'), name, uses, ms, fails }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('clock') }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('chance'), name }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('hops'), count: fc.integer({ min: 1, max: 25 }) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('ask'), name, uses: fc.constant('none'), timeout }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('event'),
        name,
        uses: fc.constant('none'),
        event: fc.constantFrom<EventName>('e0', 'e0', 'e1'),
        timeout,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('sleep'),
        name,
        uses: fc.constant('none'),
        ms: fc.constantFrom(0, 10, 300, 20_000, 100_000, 864_000_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('fail'), name }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('flow'), name, uses, body: tie('block') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('loop'),
        times: fc.integer({ min: 1, max: 3 }),
        varies: fc.boolean(),
        body: tie('block'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('if'), even: tie('block'), odd: tie('block') }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constant('group'),
        how: fc.constantFrom<Group>('all', 'all', 'race', 'any', 'settled', 'order', 'order'),
        branches: fc.array(tie('block'), { minLength: 2, maxLength: 4 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('try'),
        body: tie('block'),
        handler: tie('block'),
        seesError: fc.boolean(),
        rethrows: fc.constantFrom(false, false, true),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('later'), body: tie('block'), joins: fc.boolean() }) },
  ),
}))

export const programs: fc.Arbitrary<Block> = fc
  .array(blocks, { minLength: 1, ...most })
  .map((parts) => prepared(parts.flat()))

interface Place {
  /** Errors are caught here, so a node may throw in every execution. */
  readonly catches: boolean
  readonly isChild: boolean
}

/** Names the requests, and removes what would keep a program from ever completing. */
function prepared(program: Block): Block {
  let count = 0
  const blockOf = (nodes: Block, place: Place): Block => nodes.map((node) => nodeOf(node, place))
  const limited = (times: number, { catches }: Place): number => (times === Infinity && !catches ? 1 : times)
  const nodeOf = (node: Node, place: Place): Node => {
    const own = `${node.type[0]}${++count}`
    switch (node.type) {
      case 'step': {
        const retries = node.effect === 'once' ? 0 : node.retries
        return { ...node, name: own, retries, fails: limited(node.fails, place) }
      }
      case 'crew':
        return { ...node, name: own, fails: limited(node.fails, place) }
      case 'flow':
        return { ...node, name: own, body: blockOf(node.body, { ...place, isChild: true }) }
      case 'event':
        // only the root receives events
        return place.isChild ? { type: 'sleep', name: own, uses: 'none', ms: 10 } : { ...node, name: own }
      case 'fail':
        return place.catches ? { ...node, name: own } : { type: 'hops', count: 1 }
      case 'ask':
      case 'sleep':
      case 'chance':
        return { ...node, name: own }
      case 'clock':
      case 'hops':
        return node
      case 'loop':
        return { ...node, body: blockOf(node.body, place) }
      case 'if':
        return { ...node, even: blockOf(node.even, place), odd: blockOf(node.odd, place) }
      case 'group': {
        const catches = place.catches || node.how === 'settled'
        return { ...node, branches: node.branches.map((branch) => blockOf(branch, { ...place, catches })) }
      }
      case 'try': {
        const body = blockOf(node.body, { ...place, catches: place.catches || !node.rethrows })
        return { ...node, body, handler: blockOf(node.handler, place) }
      }
      case 'later':
        return { ...node, body: blockOf(node.body, { ...place, catches: place.catches || !node.joins }) }
    }
  }
  return blockOf(program, { catches: false, isChild: false })
}

// Reading.

/** All nodes of a program, including those of child flows. */
export function nodesOf(program: Block): Node[] {
  return program.flatMap((node) => [node, ...blocksIn(node).flatMap(nodesOf)])
}

function blocksIn(node: Node): readonly Block[] {
  switch (node.type) {
    case 'flow':
    case 'loop':
    case 'later':
      return [node.body]
    case 'if':
      return [node.even, node.odd]
    case 'try':
      return [node.body, node.handler]
    case 'group':
      return node.branches
    case 'step':
    case 'crew':
    case 'ask':
    case 'event':
    case 'sleep':
    case 'clock':
    case 'chance':
    case 'hops':
    case 'fail':
      return []
  }
}

/** Whether the value of a program depends neither on timing nor on where its processes were killed. */
export function isIndependent(program: Block, catches = false, parallel = false): boolean {
  return program.every((node) => {
    const within = (body: Block, caught = catches, beside = parallel): boolean => isIndependent(body, caught, beside)
    switch (node.type) {
      case 'step':
        return !catches || node.fails === 0 || node.fails === Infinity || node.retries >= node.fails
      case 'crew':
        return !catches || node.fails === 0 || node.fails === Infinity
      case 'ask':
        return node.timeout === undefined
      case 'event':
        return node.timeout === undefined && !parallel
      case 'clock':
      case 'chance':
        return false
      case 'group':
        return (
          (node.how === 'all' || node.how === 'settled') &&
          node.branches.every((branch) => within(branch, catches || node.how === 'settled', true))
        )
      case 'try': {
        const isOne = !nodesOf(node.body).some(({ type }) => type === 'group' || type === 'later')
        return !node.rethrows && (isOne || !node.seesError) && within(node.body, true) && within(node.handler)
      }
      case 'later':
        return within(node.body, catches || !node.joins, true)
      case 'sleep':
      case 'hops':
      case 'fail':
      case 'flow':
      case 'loop':
      case 'if':
        return blocksIn(node).every((body) => within(body))
    }
  })
}
