// Builds `dist`: JavaScript without comments, the declarations that the package's entry points need, and the studio's
// page, and the demo.
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { buildPage } from './build-page.ts'
import { bundlePackages } from './bundle-packages.ts'
import { embedValues } from './embed-values.ts'
import { pruneDeclarations } from './prune-declarations.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
compile('--removeComments', '--declaration', 'false', '--isolatedDeclarations', 'false')
compile('--emitDeclarationOnly')
await embedValues(dist)
await bundlePackages(dist)
pruneDeclarations(root)
await buildPage(join(dist, 'studio/web'))
await buildDemo(join(root, 'examples/claims-triage'), join(dist, 'demo'))

function compile(...options: string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', ...options], { cwd: root, stdio: 'inherit' })
}

/** `reprise demo` plays examples/claims-triage, whose TypeScript Node does not execute inside node_modules. */
async function buildDemo(from: string, to: string): Promise<void> {
  await build({
    entryPoints: ['demo.ts', 'crew.ts'].map((file) => join(from, file)),
    outdir: to,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: ['reprise', 'reprise/*', 'zod'],
  })
  copyFileSync(join(from, 'fixtures.json'), join(to, 'fixtures.json'))
}
