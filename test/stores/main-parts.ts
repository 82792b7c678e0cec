// A part of the contract, if the whole would take long and add little.
import { describe } from 'node:test'
import type { StoreUnderTest } from '../../src/testing/store-contract.ts'
import { inboxContract } from '../../src/testing/store-contract/inbox-contract.ts'
import { leaseContract } from '../../src/testing/store-contract/leases-contract.ts'
import { lifeContract } from '../../src/testing/store-contract/life-contract.ts'
import { queueContract } from '../../src/testing/store-contract/queue-contract.ts'
import { readyContract } from '../../src/testing/store-contract/ready-contract.ts'

/** The parts that depend on the session or the process: watches, leases and claims. */
export function mainParts(name: string, under: StoreUnderTest): void {
  describe(`parts of the contract of stores: ${name}`, () => {
    leaseContract(under)
    readyContract(under)
    queueContract(under)
    inboxContract(under)
    lifeContract(under)
  })
}
