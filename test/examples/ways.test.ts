// `npm run ways`, which shows the four ways side by side.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { isFull } from '../support/full.ts'
import { withoutRestate } from '../support/restate/restate-cluster.ts'
import { without } from '../support/servers/shared-server.ts'
import { run } from './support.ts'

const skip =
  (!isFull && 'it takes a quarter of a minute: npm run test:full') ||
  (await without('postgres')) ||
  (await withoutRestate())

test(
  'one crew file has the same result in process, in workers, through Restate and through functions',
  { skip },
  async () => {
    await using folder = await temporaryFolder()
    const { code, stdout, stderr } = await run('scripts/ways/show.ts', [], folder.path, {})
    assert.equal(stderr, '')
    assert.equal(code, 0, stdout)
    const [, table = ''] = /─\n([^]*?)\n\n/.exec(stdout) ?? []
    const rows = table.split('\n').map((line) => line.trim().split(/ {2,}/))
    const ways = rows.filter((cells) => cells.length > 1)
    assert.deepEqual(
      ways.map(([way, result, calls, filed]) => [way, result, calls, filed]),
      [
        ['in process', 'as above', '5', '1'],
        ['workers', 'the same', '5', '1'],
        ['Restate', 'the same', '5', '1'],
        ['HTTP functions', 'the same', '5', '1'],
      ],
    )
    assert.equal(rows.filter((cells) => cells.at(-1)?.endsWith(', killed')).length, 3)
    assert.equal(stdout.match(/^ {3}yes /gm)?.length, 4)
    for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line)
  },
)
