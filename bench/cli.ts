// The time of a command compared with a bare `node -e 0`: each in new processes, in turn, from the built JavaScript
// that users install.
import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { benchCrew } from './crew.ts'
import { install } from './install.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'

const runs = 1_000

export async function benchCli(folder: string): Promise<Figure[]> {
  await install(folder)
  const main = join(folder, 'node_modules/reprise/dist/cli/main.js')
  const store = `sqlite:${join(folder, 'runs.db')}`
  const crew = benchCrew(store)
  for (let done = 0; done < runs; done += 100) await Promise.all(Array.from({ length: 100 }, () => crew.kickoff()))
  await crew.close()
  // users have a cache of compiled code, too; this one belongs to this bench alone
  const tmp = join(folder, 'tmp')
  await mkdir(tmp)
  const env = { PATH: process.env['PATH'], TMPDIR: tmp }
  const node = (...args: string[]): string =>
    execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
  if (node(main, 'runs', '--store', store).split('\n').length < 20) throw new Error('runs are not listed')
  return [
    await figure('reprise --version / node -e 0', () => node(main, '--version')),
    await figure(`reprise runs, of ${runs.toLocaleString('en')} / node -e 0`, () =>
      node(main, 'runs', '--store', store),
    ),
  ]

  async function figure(name: string, ours: () => string): Promise<Figure> {
    const compared = await compare({
      rounds: 30,
      perRound: 1,
      ours: () => void ours(),
      raw: () => void node('-e', '0'),
    })
    const note = `${compared.ours.toFixed(0)} against ${compared.raw.toFixed(0)} ms`
    return { name, value: compared.ratio, note }
  }
}
