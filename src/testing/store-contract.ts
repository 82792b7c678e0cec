// The contract of stores as a test suite: every promise of the port is a test. Run it over your own driver with
// `storeContract('mine', { open, reopen })` in a file for `node --test`, or pass `runner: { describe, test }` of
// another test runner. Needs fast-check.
import { runnerOf, type StoreUnderTest } from './store-contract/harness.ts'
import { inboxContract } from './store-contract/inbox-contract.ts'
import { journalContract } from './store-contract/journal-contract.ts'
import { leaseContract } from './store-contract/leases-contract.ts'
import { lifeContract } from './store-contract/life-contract.ts'
import { listingContract } from './store-contract/listing-contract.ts'
import { queueContract, crewLimitContract } from './store-contract/queue-contract.ts'
import { readyContract } from './store-contract/ready-contract.ts'
import { modelContract } from './store-contract/store-model.ts'
import { triesContract } from './store-contract/tries-contract.ts'

export type { Feature, Place, StoreUnderTest, TestRunner } from './store-contract/harness.ts'

/** Declares the suite. Every test opens its own store. `skip` maps features that aren't tested to the reason. */
export function storeContract(name: string, store: StoreUnderTest): void {
  runnerOf(store).describe(`the contract of stores: ${name}`, () => {
    journalContract(store)
    leaseContract(store)
    readyContract(store)
    triesContract(store)
    queueContract(store)
    crewLimitContract(store)
    listingContract(store)
    inboxContract(store)
    lifeContract(store)
    modelContract(store)
  })
}
