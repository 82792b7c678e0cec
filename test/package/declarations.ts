import assert from 'node:assert/strict'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout, run, type InstalledPackage } from './installed-package.ts'

const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
const everyEntry = ['reprise', 'reprise/stores', 'reprise/journal', 'reprise/diff', 'reprise/yaml', 'reprise/testing']

export function testDeclarations(installed: () => InstalledPackage): void {
  test('the example of first-crew.md compiles in a strict project', async () => {
    const project = await openProject(installed(), 'strict', { ...strict, skipLibCheck: true })
    assert.equal(await project.compile(), '')
  })

  test('a project that emits declarations can export what the package makes and returns', async () => {
    const project = await openProject(installed(), 'exporting', { ...strict, skipLibCheck: true, declaration: true })
    await copyFile(join(import.meta.dirname, 'exporting-project.ts'), join(project.folder, 'exporting-project.ts'))
    assert.equal(await project.compile(), '')
  })

  test('the declarations have no errors of their own if libraries are checked too, strictly or not', async () => {
    for (const [name, options] of Object.entries({ checked: strict, loose: { target: 'es2022', lib: ['es2022'] } })) {
      const project = await openProject(installed(), name, { ...options, skipLibCheck: false })
      const errors = (await project.compile()).split('\n').filter((line) => line.includes(': error TS'))
      // The AI SDK's declarations have errors of their own under these options; that they are seen shows that we look.
      assert.ok(errors.some((line) => line.includes('node_modules/@ai-sdk/provider/')))
      assert.deepEqual(
        errors.filter((line) => !/^\S*node_modules\/(?!reprise\/)/.test(line)),
        [],
      )
    }
  })
}

/** A project with the example of first-crew.md and a file that imports every entry point. */
async function openProject(
  { app }: InstalledPackage,
  name: string,
  options: object,
): Promise<{ readonly folder: string; compile(): Promise<string> }> {
  const folder = join(app, name)
  await mkdir(folder)
  await copyFile(join(app, 'claims.ts'), join(folder, 'claims.ts'))
  await writeFile(join(folder, 'all.ts'), everyEntry.map((entry) => `export * from '${entry}'\n`).join(''))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const typeRoots = [join(checkout, 'node_modules/@types')]
  const compilerOptions = { module: 'nodenext', noEmit: true, types: ['node'], typeRoots, ...options }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return {
    folder,
    compile: async () => (await run(join(checkout, 'node_modules/.bin/tsc'), ['-p', '.'], folder)).stdout,
  }
}
