// What every store must do, as tests: each comment of the port made into a claim. Run it over a driver of your own with
// `storeContract('mine', { open, reopen })` in a file for `node --test`, or, with `runner: { describe, test }`, in one
// for another test runner; fast-check has to be installed.
import { runnerOf, type StoreUnderTest } from './store-contract/harness.ts'
import { inboxContract } from './store-contract/inbox-contract.ts'
import { journalContract } from './store-contract/journal-contract.ts'
import { leaseContract } from './store-contract/leases-contract.ts'
import { lifeContract } from './store-contract/life-contract.ts'
import { listingContract } from './store-contract/listing-contract.ts'
import { queueContract } from './store-contract/queue-contract.ts'
import { readyContract } from './store-contract/ready-contract.ts'
import { roomContract } from './store-contract/room-contract.ts'
import { modelContract } from './store-contract/store-model.ts'
import { triesContract } from './store-contract/tries-contract.ts'

export type { Feature, Place, StoreUnderTest, TestRunner } from './store-contract/harness.ts'

/** Declares the suite. Every test opens a store of its own; `skip` gives the reason why a feature is not tested. */
export function storeContract(name: string, store: StoreUnderTest): void {
  runnerOf(store).describe(`the contract of stores: ${name}`, () => {
    journalContract(store)
    leaseContract(store)
    readyContract(store)
    triesContract(store)
    queueContract(store)
    roomContract(store)
    listingContract(store)
    inboxContract(store)
    lifeContract(store)
    modelContract(store)
  })
}
