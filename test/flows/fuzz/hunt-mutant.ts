// Plants a defect in the source while it is loaded, and plays histories until one fails. Prints the number of histories
// and the failure: `node --conditions=reprise-source test/flows/fuzz/hunt-mutant.ts '<defect>' <histories>`.
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { orderMutants, otherMutants } from './mutants.ts'

const [defect = '', most = ''] = process.argv.slice(2)
const mutant = { ...orderMutants, ...otherMutants }[defect]
assert.ok(mutant, `no mutant is called ${defect}`)
let isPlanted = false
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(mutant.file)) return loaded
    const source = new TextDecoder().decode(loaded.source as Uint8Array)
    assert.ok(source.includes(mutant.before), `${mutant.file} has no ${mutant.before}`)
    isPlanted = true
    return { ...loaded, source: source.replace(mutant.before, () => mutant.after) }
  },
})
const { hunt } = await import('./hunt.ts')
const { memoryStore } = await import('../../../src/stores/memory/store.ts')
const { failed, numRuns, errorInstance } = await hunt({
  open: (now) => memoryStore({ now }),
  seed: 1,
  numRuns: Number(most),
  isQuick: true,
})
assert.ok(isPlanted, `${mutant.file} was not loaded`)
console.log(JSON.stringify({ failed, numRuns, error: String(errorInstance) }))
