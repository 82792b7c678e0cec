// Builds `dist`: JavaScript without comments, the declarations that the package's entry points need, and the studio's
// page.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
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

function compile(...options: string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', ...options], { cwd: root, stdio: 'inherit' })
}
