// Records the golden journals: node --conditions=reprise-source test/journal/golden/record.ts [scene …]
// Golden files are frozen: existing ones are kept, and missing ones added. To cover a new type or field, add a scene.
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportRun } from '../../../src/engine/history/export-run.ts'
import { openLab } from './lab.ts'
import { journals, type Recorded } from './goldens.ts'
import { readingsOf } from './readings.ts'
import { scenes } from './scenes/index.ts'

/** When all scenes begin. Early enough that sleeps and delays are over by now. */
const start = '2026-01-05T09:00:00Z'

// output files are written below the working folder
process.chdir(await mkdtemp(join(tmpdir(), 'reprise-golden-')))

await mkdir(journals, { recursive: true })
const existing = new Set(await readdir(journals))
const chosen = process.argv.slice(2)
const unknown = chosen.find((name) => !(name in scenes))
if (unknown !== undefined) throw new Error(`there is no scene ${unknown}; there are ${Object.keys(scenes).join(', ')}`)

/** JSON with one line per member, down to this depth. */
function inLines(value: object, depth: number): string {
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
    const isObject = depth > 1 && typeof member === 'object' && !Array.isArray(member)
    return `${JSON.stringify(name)}: ${isObject ? inLines(member as object, depth - 1) : JSON.stringify(member)}`
  })
  return `{\n${members.join(',\n')}\n}`
}

for (const [scene, { record, finish }] of Object.entries(scenes)) {
  if (chosen.length > 0 && !chosen.includes(scene)) continue
  const lab = openLab(start)
  const save = async (name: string, run: string, more: Pick<Recorded, 'ends' | 'outputs'>): Promise<void> => {
    const file = `${scene}.${name}`
    if (existing.has(`${file}.jsonl`)) return console.log(`kept      ${file}`)
    const exported = (await Array.fromAsync(exportRun(lab.store, run, new Date(start)))).join('')
    const readings = await readingsOf(exported)
    const recorded: Recorded = { scene, run, ...more, effects: [...lab.effects], readings }
    await writeFile(new URL(`${file}.jsonl`, journals), exported, { flag: 'wx' })
    await writeFile(new URL(`${file}.view.json`, journals), `${inLines(recorded, 3)}\n`, { flag: 'wx' })
    console.log(`recorded  ${file}`)
  }
  await record({
    ...lab,
    save: (name, run, to) => save(name, run, to === undefined ? {} : { ends: `${scene}.${to}` }),
    saveFinished: async (name, run) => save(name, run, { outputs: await finish(lab.life(), run) }),
  })
}
