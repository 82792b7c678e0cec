// The programs of some guides print what the guides say. Each runs in a process and a folder
// of its own.
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { root, run } from './support.ts'

// below the checkout, where the packages that they import are found
const programs = 'test/.types/guides'
const guides = await Promise.all(
  ['flows', 'conversations', 'any-task-of-any-run'].map(async (guide) => {
    const text = await readFile(join(root, `docs/guides/${guide}.md`), 'utf8')
    const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].flatMap(([, code = '']) => {
      const [, output] = code.split('// Output:\n')
      const name = [...code.matchAll(/name: '([\w-]+)'/g)].at(guide === 'flows' ? 0 : -1)?.[1] ?? ''
      return output === undefined ? [] : [{ name, code, output: output.replaceAll(/^\/\/ ?/gm, '') }]
    })
    return { guide, blocks }
  }),
)

for (const { guide, blocks } of guides)
  describe(`in the guide to ${guide},`, { concurrency: 2 }, () => {
    const folder = join(programs, guide)
    before(() => mkdir(join(root, folder), { recursive: true }))
    after(() => rm(join(root, folder), { recursive: true, force: true }))

    for (const { name, code, output } of blocks) {
      test(`the program with ${name} prints its output`, async () => {
        const file = join(folder, `${name}.ts`)
        await writeFile(join(root, file), code)
        await using place = await temporaryFolder()
        const ended = await run(file, [], place.path, {})
        assert.equal(ended.stdout, output, ended.stderr)
      })
    }

    test('there are such programs', () => assert.ok(blocks.length > 0))
  })
