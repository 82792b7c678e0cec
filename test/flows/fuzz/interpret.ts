// Interprets a program. Its requests are executed by a flow, read from a journal, or computed at once.
import type { Json } from '../../../src/journal/json.ts'
import type { Block, ChanceNode, Node, RequestNode, StepNode } from './program.ts'

export interface Requests {
  /** `key` distinguishes the rounds of a loop. */
  request(node: RequestNode, key: string, input: string): Promise<string>
  now(): string
  random(node: ChanceNode, key: string): string
}

/** The error that steps and programs throw. */
export class Broken extends Error {
  override name = 'Broken'
  readonly broken: string
  constructor(name: string) {
    super(`${name} is broken`)
    this.broken = name
  }
}

/** Interprets a program whose first value is `given`. */
export function interpret(program: Block, requests: Requests, given: string): Promise<string> {
  return block(program, { requests, values: [given], key: '' })
}

interface Scope {
  readonly requests: Requests
  /** The values so far. */
  readonly values: string[]
  readonly key: string
}

async function block(nodes: Block, outer: Scope): Promise<string> {
  const scope = { ...outer, values: [...outer.values] }
  const joined: Promise<string>[] = []
  for (const node of nodes) scope.values.push(await valueOf(node, scope, joined))
  for (const one of joined) scope.values.push(await one)
  return mix(scope.values)
}

async function valueOf(node: Node, scope: Scope, joined: Promise<string>[]): Promise<string> {
  const { requests, values, key } = scope
  switch (node.type) {
    case 'step':
    case 'crew':
    case 'flow':
    case 'ask':
    case 'event':
    case 'sleep':
      return requests.request(node, key, inputOf(node, values))
    case 'clock':
      return requests.now()
    case 'chance':
      return requests.random(node, key)
    case 'hops':
      for (let hop = 0; hop < node.count; hop++) await Promise.resolve()
      return 'hopped'
    case 'fail':
      throw new Broken(node.name)
    case 'if':
      return block(numberOf(values.at(-1)) % 2 === 0 ? node.even : node.odd, scope)
    case 'loop': {
      const times = node.varies ? 1 + (numberOf(mix(values)) % node.times) : node.times
      for (let round = 0; round < times; round++)
        values.push(await block(node.body, { ...scope, key: key === '' ? `${round}` : `${key}-${round}` }))
      return mix(values)
    }
    case 'group':
      return group(node, scope)
    case 'try':
      try {
        return await block(node.body, scope)
      } catch (error) {
        values.push(node.seesError ? labelOf(error) : 'caught')
        const handled = await block(node.handler, scope)
        if (node.rethrows) throw error
        return handled
      }
    case 'later': {
      const work = block(node.body, scope)
      work.catch(() => {})
      if (node.joins) joined.push(work)
      return 'later'
    }
  }
}

async function group({ how, branches }: Extract<Node, { type: 'group' }>, scope: Scope): Promise<string> {
  const order: number[] = []
  const works = branches.map(async (branch, index) => {
    const made = await block(branch, scope)
    order.push(index)
    return made
  })
  for (const work of works) work.catch(() => {})
  switch (how) {
    case 'all':
      return mix(await Promise.all(works))
    case 'race':
      return Promise.race(works)
    case 'any':
      return Promise.any(works)
    case 'order':
      return mix([...(await Promise.all(works)), order.join()])
    case 'settled': {
      const settled = await Promise.allSettled(works)
      return mix(settled.map((one) => (one.status === 'fulfilled' ? one.value : labelOf(one.reason))))
    }
  }
}

function inputOf({ uses }: RequestNode, values: readonly string[]): string {
  return uses === 'none' ? '' : uses === 'last' ? (values.at(-1) ?? '') : mix(values)
}

/** What a program sees of an error. Failures of child flows all look the same. */
export function labelOf(error: unknown): string {
  return (error as Partial<Broken>).broken ?? 'failed'
}

/** The path of a request. Several waits for the same event differ by key. */
export function pathOf(node: RequestNode | ChanceNode, key: string): string {
  if (node.type === 'event') return `${node.event}[${eventKey(node, key)}]`
  return key === '' ? node.name : `${node.name}[${key}]`
}

export function eventKey({ name }: { readonly name: string }, key: string): string {
  return key === '' ? name : `${name}-${key}`
}

/** A recorded value, as programs receive it. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A short hash. */
export function mix(values: readonly string[]): string {
  let hash = 0x811c9dc5
  for (const character of values.join('|')) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return (hash >>> 0).toString(36)
}

function numberOf(text = ''): number {
  return Number.parseInt(mix([text]), 36) >>> 4
}

// Results of requests.

export function resultOf({ name, shape }: StepNode, key: string, input: string): Json {
  const made = mix([name, key, input])
  return shape === 'nothing' ? null : shape === 'object' ? { made } : made
}

export const stampOf = (said: string): string => `${said}, stamped`
export const saidOf = (word: string): string => `heard ${word}`
export const answerTo = (path: string): string => `ok ${path}`
/** The value of the nth event of a name, from 0. */
export const eventValue = (event: string, count: number): string => `${event} ${count}`
export const timedOut = 'timed out'
export const slept = 'slept'
