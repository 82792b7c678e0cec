// `reprise/testing`: what users and our own tests share.
import '../base/node-version.ts'

export { faultyStore, jumpingClock, onNthCall, delayed, type Faults, type FaultyStore } from './faulty-store.ts'
export { scriptedModel, type ScriptedModel, type ScriptEntry } from './scripted-model.ts'
export { storeContract } from './store-contract.ts'
