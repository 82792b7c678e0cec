import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imports, project } from './support.ts'

const crewNamed = (name: string, task = 'waits'): string => `${imports}
const waits = new Task({ name: '${task}', effect: 'read', humanInput: true, run: () => 'done' })
export const crew = new Crew({ name: '${name}', tasks: [waits] })
`

test('reprise check names the unfinished runs of crews that the modules do not export', async () => {
  await using folder = await project(crewNamed('claims'))
  assert.equal((await folder.reprise('run', '--id', 'first')).code, 3)
  const same = await folder.reprise('check')
  assert.equal(same.code, 0)
  assert.doesNotMatch(same.stderr, /not checked/)
  await folder.write('crew.ts', crewNamed('letters'))
  const renamed = await folder.reprise('check')
  assert.equal(renamed.code, 0)
  assert.match(renamed.stderr, /no unfinished runs of letters\n/)
  assert.match(renamed.stderr, /not checked: 1 unfinished run of claims, a crew that these modules do not export\n/)
})

test('show lists the tasks that were added, removed or renamed while the run was under way', async () => {
  await using folder = await project(crewNamed('claims'))
  await folder.reprise('enqueue', '--id', 'first')
  await folder.write('crew.ts', crewNamed('claims', 'holds'))
  await folder.reprise('worker', '--once')
  await folder.write('crew.ts', crewNamed('claims', 'keeps'))
  await folder.reprise('resume', 'first', '--renamed', 'holds=keeps')
  const shown = await folder.reprise('show', 'first')
  const dates = shown.stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'then')
  assert.match(dates, /^changed +then: added holds; removed waits\nchanged +then: renamed holds to keeps$/m)
})
