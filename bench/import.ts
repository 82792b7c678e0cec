// What `import 'reprise'` costs beside `import 'ai'`: both in fresh processes, one after the other in turn, from the built
// JavaScript that users get, in a folder where both are found.
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ImportCost {
  /** Medians, in milliseconds. */
  readonly reprise: number
  readonly ai: number
  /** How many processes each median is of. */
  readonly processes: number
}

export async function importCost(processes = 15): Promise<ImportCost> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-bench-'))
  try {
    await install(folder)
    const times: { reprise: number[]; ai: number[] } = { reprise: [], ai: [] }
    // The first of each is thrown away: it reads the files from the disk.
    for (let round = 0; round <= processes; round += 1) {
      for (const name of ['reprise', 'ai'] as const) {
        const time = timeOf(name, folder)
        if (round > 0) times[name].push(time)
      }
    }
    return { reprise: median(times.reprise), ai: median(times.ai), processes }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reprise built, and the checkout's packages beside it. */
async function install(folder: string): Promise<void> {
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
}

function timeOf(name: string, cwd: string): number {
  const code = `const start = performance.now(); await import('${name}'); console.log(performance.now() - start)`
  const env = { PATH: process.env['PATH'] }
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd, env, encoding: 'utf8' }))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

if (import.meta.main) {
  const { reprise, ai, processes } = await importCost()
  console.log(`import 'reprise' ${reprise.toFixed(1)} ms, import 'ai' ${ai.toFixed(1)} ms (medians of ${processes})`)
}
