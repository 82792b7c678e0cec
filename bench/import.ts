// The time of `import 'reprise'` compared with `import 'ai'`: each in new processes, in turn, from the built JavaScript
// that users install.
import { execFileSync } from 'node:child_process'
import { install } from './install.ts'
import type { Figure } from './report.ts'

/** Number of processes of which each median is taken. */
const processes = 15

export async function benchImport(folder: string): Promise<Figure[]> {
  await install(folder)
  const times: { reprise: number[]; ai: number[] } = { reprise: [], ai: [] }
  // the first process of each side isn't counted: it reads the files from the disk
  for (let round = 0; round <= processes; round += 1) {
    for (const name of ['reprise', 'ai'] as const) {
      const time = timeOf(name, folder)
      if (round > 0) times[name].push(time)
    }
  }
  const [reprise, ai] = [median(times.reprise), median(times.ai)]
  const note = `${reprise.toFixed(0)} against ${ai.toFixed(0)} ms`
  return [{ name: "import 'reprise' / import 'ai'", value: reprise / ai, note }]
}

function timeOf(name: string, cwd: string): number {
  const code = `const start = performance.now(); await import('${name}'); console.log(performance.now() - start)`
  const env = { PATH: process.env['PATH'] }
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd, env, encoding: 'utf8' }))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
