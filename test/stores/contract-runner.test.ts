// The contract in a test runner other than node:test.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { storeContract } from 'reprise/testing'
import type { TestRunner } from '../../src/testing/store-contract.ts'

interface Declared {
  readonly title: string
  readonly skipped: boolean
  readonly body: () => Promise<void>
}

/** A runner that records suites and tests, to execute them later. */
function recorder(): { readonly runner: TestRunner; readonly suites: string[]; readonly tests: Declared[] } {
  const suites: string[] = []
  const tests: Declared[] = []
  const declare =
    (skipped: boolean) =>
    (title: string, body: () => Promise<void>): void =>
      void tests.push({ title, skipped, body })
  return {
    suites,
    tests,
    runner: {
      describe(title, body) {
        suites.push(title)
        body()
      },
      test: Object.assign(declare(false), { skip: declare(true) }),
    },
  }
}

test('the contract is declared with the functions of the given runner, and passes there', async () => {
  const { runner, suites, tests } = recorder()
  storeContract('mine', { open: ({ now }) => memoryStore({ now }), runner })
  assert.deepEqual(suites, ['the contract of stores: mine'])
  const declared = tests.filter(({ skipped }) => !skipped)
  assert.ok(declared.length > 50, `${declared.length} tests`)
  for (const { body } of declared.slice(0, 5)) await body()
})

test('a skipped part of the contract is declared as skipped, with the reason in its title', () => {
  const { runner, tests } = recorder()
  const open = (): ReturnType<typeof memoryStore> => memoryStore()
  storeContract('mine', { open, skip: { clock: 'it has the clock of a server' }, runner })
  const skipped = tests.flatMap(({ skipped: isSkipped, title }) => (isSkipped ? [title] : []))
  assert.ok(
    skipped.some((title) => title.endsWith(' (skipped: it has the clock of a server)')),
    skipped.join('\n'),
  )
  assert.ok(
    skipped.some((title) => title.endsWith(' (skipped: the store keeps nothing)')),
    skipped.join('\n'),
  )
})

test('a store that breaks the contract fails it', async () => {
  const { runner, tests } = recorder()
  storeContract('mine', { open: () => ({ ...memoryStore(), row: () => Promise.resolve(undefined) }), runner })
  const outcomes = await Promise.allSettled(tests.filter(({ skipped }) => !skipped).map(({ body }) => body()))
  assert.ok(outcomes.some(({ status }) => status === 'rejected'))
})
