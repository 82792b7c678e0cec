// A program of the tests as one piece of JavaScript: most of the time of a small process is spent on finding, reading
// and compiling the hundreds of files of the library. It lies inside node_modules, so that packages which are looked
// for when they are needed are found.
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { valueModules, valuesOf } from '../../scripts/embed-values.ts'

const cache = join(import.meta.dirname, '../../node_modules/.cache')

/** A program, and the variables with which its processes read what one of them has compiled. */
export interface Bundle {
  readonly file: string
  readonly variables: { readonly NODE_COMPILE_CACHE: string }
}

const made = new Map<string, Promise<Bundle>>()

/** As in the package: a bundle has no files beside it. */
const values: Plugin = {
  name: 'values',
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/src/(${valueModules.join('|')})\\.ts$`) }, async ({ path }) => ({
      contents: await valuesOf(path),
    }))
  },
}

/** Made once in a process, and gone with it. */
export function bundle(program: string): Promise<Bundle> {
  const known = made.get(program) ?? make(program)
  made.set(program, known)
  return known
}

async function make(program: string): Promise<Bundle> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'reprise-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await build({
    entryPoints: [program],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    // those of guardrails are in journals
    keepNames: true,
    platform: 'node',
    format: 'esm',
    conditions: ['reprise-source'],
    external: ['@opentelemetry/*'],
    plugins: [values],
    banner: {
      js: "import { createRequire as require_ } from 'node:module'; const require = require_(import.meta.url);",
    },
    logLevel: 'error',
  })
  return {
    file: join(folder, `${basename(program, '.ts')}.mjs`),
    variables: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(folder, 'code') },
  }
}
