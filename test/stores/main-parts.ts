// A part of the contract, where the whole of it would take long and says little more.
import { describe } from 'node:test'
import type { StoreUnderTest } from '../../src/testing/store-contract.ts'
import { inboxContract } from '../../src/testing/store-contract/inbox-contract.ts'
import { leaseContract } from '../../src/testing/store-contract/leases-contract.ts'
import { lifeContract } from '../../src/testing/store-contract/life-contract.ts'
import { queueContract } from '../../src/testing/store-contract/queue-contract.ts'
import { readyContract } from '../../src/testing/store-contract/ready-contract.ts'

/** Where a session could be missed, or another process: what is told, held and claimed. */
export function mainParts(name: string, under: StoreUnderTest): void {
  describe(`parts of the contract of stores: ${name}`, () => {
    leaseContract(under)
    readyContract(under)
    queueContract(under)
    inboxContract(under)
    lifeContract(under)
  })
}
