// `reprise/testing`: what users and our own tests share.
import '../base/node-version.ts'

export {
  faultyStore,
  jumpingClock,
  onNthCall,
  delayed,
  type Fault,
  type Faults,
  type FaultyStore,
  type StoreCall,
  type StoreCallName,
} from './faulty-store.ts'
export { scriptedModel, type ScriptedCall, type ScriptedModel, type ScriptEntry } from './scripted-model.ts'
export { storeContract, type StoreUnderTest, type TestRunner } from './store-contract.ts'
