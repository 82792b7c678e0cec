// The value of a program that does not depend on timing, computed without the engine.
import {
  answerTo,
  Broken,
  eventValue,
  interpret,
  pathOf,
  resultOf,
  saidOf,
  slept,
  stampOf,
  textOf,
  type Requests,
} from './interpret.ts'
import type { Block, RequestNode } from './program.ts'

export function idealValue(program: Block, given: string): Promise<string> {
  const received = new Map<string, number>()
  const valueOf = async (node: RequestNode, key: string, input: string): Promise<string> => {
    switch (node.type) {
      case 'step':
        if (node.fails === Infinity) throw new Broken(node.name)
        return textOf(resultOf(node, key, input))
      case 'crew':
        if (node.fails === Infinity) throw new Broken(node.name)
        return stampOf(saidOf(input))
      case 'flow':
        return interpret(node.body, requests, input).catch(() => {
          throw new Error('the child run failed')
        })
      case 'ask':
        return answerTo(pathOf(node, key))
      case 'event': {
        const count = received.get(node.event) ?? 0
        received.set(node.event, count + 1)
        return eventValue(node.event, count)
      }
      case 'sleep':
        return slept
    }
  }
  const requests: Requests = {
    request: valueOf,
    now: () => 'now',
    random: () => 'random',
  }
  return interpret(program, requests, given)
}
