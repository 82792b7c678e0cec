import assert from 'node:assert/strict'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'
import { openModel } from '../examples/support.ts'
import { run, type InstalledPackage } from './installed-package.ts'

// What everybody who bundles the AI SDK as a module has to say, since a package of it (@vercel/oidc) is CommonJS and
// requires node's own modules. In these very words, as people copy them: the names must not clash with ours.
const banner = "import { createRequire } from 'module'; const require = createRequire(import.meta.url);"

const task = (name: 'facts' | 'note'): string =>
  name === 'facts' ? 'Task: Extract the facts from: water in the cellar' : 'Task: Write a triage note'

/** In bytes. What bundlers may leave out is decided by `sideEffects` in package.json, and by what imports what. */
const largest = 20 * 1024
const bundled = { RepriseError: 'reprise', tool: 'reprise', scriptedModel: 'reprise/testing' }

export function testBundles(installed: () => InstalledPackage): void {
  for (const [name, entry] of Object.entries(bundled)) {
    test(`a minified bundle with only ${name} of ${entry} has less than ${largest} bytes`, async () => {
      const { outputFiles } = await build({
        stdin: {
          contents: `import { ${name} } from '${entry}'; console.log(${name})`,
          resolveDir: installed().app,
        },
        bundle: true,
        platform: 'node',
        format: 'esm',
        minify: true,
        write: false,
        external: ['ai'],
      })
      const bytes = outputFiles[0]?.contents.length ?? 0
      assert.ok(bytes > 1000 && bytes < largest, `${bytes} bytes`)
    })
  }

  test('a page gets what it needs of reprise/ui in less than 1000 bytes, without any module of Node', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { lastEntryNumber } from 'reprise/ui'; console.log(lastEntryNumber)`,
        resolveDir: installed().app,
      },
      bundle: true,
      platform: 'browser',
      external: ['node:*'],
      format: 'esm',
      minify: true,
      write: false,
    })
    const { text = '' } = outputFiles[0] ?? {}
    assert.ok(text.length > 100 && text.length < 1000, `${text.length} bytes`)
    assert.doesNotMatch(text, /node:/)
  })

  for (const { store, left, minify } of [
    { store: undefined, left: '.reprise', minify: false },
    { store: 'file:./state', left: 'state', minify: true },
  ]) {
    const of = `${store ?? 'the default store'}${minify ? ', minified,' : ''}`
    test(`a bundle with ${of} runs alone in a folder, and is resumed and replayed there by other processes`, async () => {
      const { root, app } = installed()
      const folder = join(root, minify ? 'minified' : 'bundled')
      await mkdir(folder)
      await copyFile(join(import.meta.dirname, 'bundled-crew.ts'), join(app, 'bundled-crew.ts'))
      await build({
        entryPoints: ['bundled-crew.ts'],
        absWorkingDir: app,
        outfile: join(folder, 'crew.mjs'),
        bundle: true,
        platform: 'node',
        format: 'esm',
        banner: { js: banner },
        minify,
        logLevel: 'silent',
      })
      await using model = await openModel('fixtures/claims.json')
      const bundle = async (action: string): Promise<unknown> => {
        const args = ['crew.mjs', action, ...(store === undefined ? [] : [store])]
        const { stdout, stderr } = await run(process.execPath, args, folder, model.environment)
        assert.notEqual(stdout, '', stderr)
        return JSON.parse(stdout)
      }
      const policy = { policy: 'P-77', lossDate: '3 May', issue: 'water in the cellar' }
      const note = 'Water damage under policy P-77 (Ada), 3 May: send an assessor.'

      assert.deepEqual(await bundle('begin'), { status: 'suspended', outputs: [policy, null] })
      assert.deepEqual(model.asked(), [task('facts'), task('facts')])
      assert.deepEqual(await bundle('go on'), { status: 'completed', outputs: [policy, note] })
      assert.deepEqual(await bundle('replay'), { status: 'completed', outputs: [policy, note] })
      assert.deepEqual(model.asked().slice(2), [task('note'), task('note')])
      assert.deepEqual((await readdir(folder)).toSorted(), [left, 'crew.mjs'].toSorted())
    })
  }
}
