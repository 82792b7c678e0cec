// The command line over a store of several shards.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { claims, project, records } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']
const both = ['--store', 'sharded:sqlite:a.db,sqlite:b.db']

function says(ended: Parameters<typeof records>[0], check: string): string[] {
  return records(ended).flatMap((each) => (each['check'] === check ? [String(each['says'])] : []))
}

test('a team brings its runs into two shards by copy, and finds, lists and resumes them there', async () => {
  await using folder = await project(claims)
  for (const id of ['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'])
    assert.equal((await folder.reprise('run', '--id', id, ...inputs)).code, 0)
  const copied = await folder.reprise('copy', 'sqlite:.reprise/runs.db', both[1] as string)
  assert.match(copied.stderr, /copied 8 runs to sharded:sqlite:\S+a\.db,sqlite:\S+b\.db/)
  const again = await folder.reprise('copy', 'sqlite:.reprise/runs.db', both[1] as string)
  assert.equal(again.code, 0)
  const listed = records(await folder.reprise('runs', '--json', ...both)).map((run) => run['runId'])
  assert.equal(listed.length, 8)
  const shown = await folder.reprise('show', 'r5', '--json', ...both)
  assert.equal(shown.code, 0)
  for (const name of ['a.db', 'b.db']) {
    const there = records(await folder.reprise('runs', '--json', '--store', `sqlite:${name}`)).length
    assert.ok(there < 8, `${name} has ${there}`)
  }
  const refused = await folder.reprise('run', '--store', 'sqlite:a.db', '--id', 'new', ...inputs)
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /spread over more stores.*b\.db/s)
})

test('doctor looks at each shard, tells them nothing, and names one that is missing', async () => {
  await using folder = await project(claims)
  const before = await folder.reprise('doctor', '--json', ...both)
  assert.equal(says(before, 'store').filter((text) => /not there yet/.test(text)).length, 2)
  assert.ok(!existsSync(join(folder.path, 'a.db')))
  assert.match((await folder.reprise('runs', ...both)).stderr, /no runs/)
  assert.ok(!existsSync(join(folder.path, 'a.db')))
  assert.equal((await folder.reprise('run', '--id', 'r', ...both, ...inputs)).code, 0)
  const known = await folder.reprise('doctor', '--json', ...both)
  assert.deepEqual(says(known, 'shards'), ['2, which know one another'])
  assert.deepEqual(says(known, 'runs'), ['1'])
  const less = await folder.reprise('doctor', '--json', '--store', 'sharded:sqlite:a.db')
  assert.match(says(less, 'shards')[0] ?? '', /runs are also in sqlite:\S+b\.db/)
  const added = await folder.reprise('migrate', ...both)
  assert.match(added.stderr, /a\.db is up to date: layout \d+\n.*b\.db is up to date: layout \d+\n$/)
  const printed = await folder.reprise('migrate', '--print', ...both)
  assert.equal(printed.code, 2)
  assert.match(printed.stderr, /--print is for one database/)
})

test('doctor shows no password of a shard', async () => {
  await using folder = await project(claims)
  const url = 'sharded:sqlite:a.db,postgres://me:s3cretpassword@127.0.0.1:1/x'
  const ended = await folder.reprise('doctor', '--store', url)
  assert.equal(ended.code, 1)
  assert.ok(!`${ended.stdout}${ended.stderr}`.includes('s3cretpassword'))
  const run = await folder.reprise('run', '--store', url, ...inputs)
  assert.notEqual(run.code, 0)
  assert.ok(!`${run.stdout}${run.stderr}`.includes('s3cretpassword'))
})
