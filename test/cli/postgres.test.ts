// The command line over a server: what it prints works, and has no password in it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'
import { filing, project } from './support.ts'

const asking = filing.replace('agent: clerk', 'agent: clerk, humanInput: true')

describe('the command line over PostgreSQL', { skip: await without('postgres') }, () => {
  test('a crew that names a server as its store is found by its file, and no password is printed', async () => {
    await using own = await freshSchema()
    const { password } = new URL(own.url)
    await using folder = await project(asking)
    await folder.write('kept.ts', asking.replace("name: 'filing',", `name: 'filing', store: '${own.url}',`))
    const printed: string[] = []
    const reprise: typeof folder.reprise = async (...args) => {
      const ended = await folder.reprise(...args)
      printed.push(ended.stdout, ended.stderr)
      return ended
    }
    const ended = await reprise('run', 'kept.ts', '--id', 'r')
    assert.equal(ended.code, 3, ended.stderr)
    assert.match(ended.stderr, /answer r q1 --file kept\.ts/)
    const found = await reprise('runs', '--store', own.url)
    assert.match(found.stdout, /^r +filing +waiting/m)
    await reprise('show', 'r', '--store', own.url)
    assert.equal((await reprise('answer', 'r', 'q1', '--file', 'kept.ts', '--decision', 'approve')).code, 0)
    const resumed = await reprise('resume', 'r', '--file', 'kept.ts')
    assert.equal(resumed.stdout, 'Filed: C-1\n', resumed.stderr)
    await reprise('doctor', '--store', own.url)
    await reprise('show', 'unknown', '--store', own.url)
    assert.ok(!printed.join('\n').includes(password), printed.join('\n'))
  })

  test('a command that lists runs does not create a missing schema', async () => {
    await using own = await freshSchema()
    const misspelt = new URL(own.url)
    misspelt.searchParams.set('schema', `${misspelt.searchParams.get('schema')}_misspelt`)
    await using folder = await project(asking)
    const printed: string[] = []
    for (const command of [
      'runs',
      'runs --waiting',
      'show r',
      'prune --keep 1 --yes',
      'resume r',
      'replay r -t file --dry-run',
    ]) {
      const { stdout, stderr } = await folder.reprise(...command.split(' '), '--store', misspelt.href)
      printed.push(stdout, stderr)
      const { stdout: checked } = await folder.reprise('doctor', '--store', misspelt.href)
      assert.match(checked, /layout +does not exist yet/, command)
    }
    assert.match(printed.join('\n'), /there are no runs in postgres:.*_misspelt yet/)
    assert.ok(!printed.join('\n').includes(misspelt.password), printed.join('\n'))
  })

  test('a server that is away is reported at once, and the failed call after the wait', async () => {
    await using folder = await project(asking)
    const ended = await folder.reprise('runs', '--store', 'postgres://me:s3cret@127.0.0.1:1/x')
    assert.notEqual(ended.code, 0)
    assert.match(
      ended.stderr,
      /^warning: the store .* does not answer \(connect ECONNREFUSED 127\.0\.0\.1:1\): waiting for it$/m,
    )
    assert.match(ended.stderr, /could not be reached for 1\d s \(connect ECONNREFUSED/)
    assert.ok(!ended.stderr.includes('s3cret'))
  })
})
