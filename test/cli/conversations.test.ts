// Conversations, and other runs of flows that continue one another, on the command line.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imports, project, records } from './support.ts'

const counting = `${imports}
export const counts = new Flow({
  name: 'counts',
  inputs: z.object({ n: z.number() }),
  async run(flow) {
    const n = await flow.step('add', { effect: 'read', input: flow.inputs.n }, (value) => value + 1)
    return n === 3 ? n : flow.again({ n })
  },
})
`

describe('on the command line, a run of a flow that continues again', () => {
  test('is shown with the runs before and after it, and the next one is advised', async () => {
    await using folder = await project(counting)
    const run = await folder.reprise('run', '--id', 'c', '--input', 'n:=0')
    assert.equal(run.code, 0, run.stderr)
    const first = await folder.reprise('show', 'c')
    assert.match(first.stdout, /^next +continues as c~2$/m)
    assert.match(first.stderr, /npx reprise show 'c~2'/)
    const second = await folder.reprise('show', 'c~2')
    assert.match(second.stdout, /^previous continues c$/m)
    assert.match(second.stdout, /^next +continues as c~3$/m)
    const [{ previous, next } = {}] = records(await folder.reprise('show', 'c~2', '--json'))
    assert.deepEqual([previous, next], ['c', 'c~3'])
    const lineage = await folder.reprise('show', 'c~2', '--lineage')
    assert.match(lineage.stdout, /^continues c\ncontinues as c~3$/m)
  })
})
