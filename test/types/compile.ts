// The compiler as users have it, on files that a test writes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before } from 'node:test'

export interface Compiler {
  /** Compiles one file, and gives what the compiler says and the declarations that it makes. */
  compile(name: string, code: string): { readonly said: string; readonly declarations: string }
  /** What the compiler says with these options to files that are there. */
  check(files: readonly string[], compilerOptions: { readonly [option: string]: unknown }): string
}

/** In a folder of the test file's own, which is there while its tests run. */
export function compilerFor(testFile: string): Compiler {
  const folder = join('test/.types', testFile)
  before(() => mkdirSync(folder, { recursive: true }))
  after(() => rmSync(folder, { recursive: true, force: true }))

  // nothing but these files and what they import: the whole tree would be emitted otherwise
  const run = (name: string, config: object): string => {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify({ extends: '../../../tsconfig.json', include: [], ...config }))
    return spawnSync('node_modules/.bin/tsc', ['-p', file], { encoding: 'utf8' }).stdout
  }
  return {
    compile(name, code) {
      writeFileSync(join(folder, `${name}.ts`), code)
      const emit = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: 'out', rootDir: '../../..' }
      const said = run(name, { compilerOptions: emit, files: [`${name}.ts`] })
      return { said, declarations: readFileSync(join(folder, 'out', folder, `${name}.d.ts`), 'utf8') }
    },
    check: (files, compilerOptions) =>
      run('check', { compilerOptions, files: files.map((file) => join('../../..', file)) }),
  }
}
