// Installs Reprise as users do: built, and in node_modules of a folder, with the packages that it needs.
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { embedValues } from '../scripts/embed-values.ts'

export async function install(folder: string): Promise<void> {
  const checkout = join(import.meta.dirname, '..')
  const modules = join(checkout, 'node_modules')
  const reprise = join(folder, 'node_modules/reprise')
  await mkdir(reprise, { recursive: true })
  for (const name of await readdir(modules)) {
    if (!name.startsWith('.')) await symlink(join(modules, name), join(folder, 'node_modules', name))
  }
  await copyFile(join(checkout, 'package.json'), join(reprise, 'package.json'))
  const build = ['-p', join(checkout, 'tsconfig.build.json'), '--outDir', join(reprise, 'dist')]
  execFileSync(join(modules, '.bin/tsc'), build, { stdio: 'inherit' })
  await embedValues(join(reprise, 'dist'))
}
