// Bundles a program of the tests: a small process would otherwise spend most of its time on finding, reading and
// compiling the hundreds of files of the library. Bundles are in node_modules, so that packages that are loaded on
// demand are found.
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { valueModules, valuesOf } from '../../scripts/embed-values.ts'

const cache = join(import.meta.dirname, '../../node_modules/.cache')

/** A bundled program, and the environment variables with which its processes share compiled code. */
export interface Bundle {
  readonly file: string
  readonly variables: { readonly NODE_COMPILE_CACHE: string }
}

const bundles = new Map<string, Promise<Bundle>>()

/** Embeds files such as SQL, as in the built package: a bundle has no files beside it. */
const values: Plugin = {
  name: 'values',
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`/src/(${valueModules.join('|')})\\.ts$`) }, async ({ path }) => ({
      contents: await valuesOf(path),
    }))
  },
}

/** Bundles each program once. The bundles are deleted when this process exits. */
export function bundle(program: string): Promise<Bundle> {
  const known = bundles.get(program) ?? make(program)
  bundles.set(program, known)
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
    // journals contain the names of guardrail functions
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
