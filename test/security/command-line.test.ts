// Invariant 9, for what the command line prints.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imports, project } from '../cli/support.ts'
import { assertNowhere, storedIn } from './nowhere.ts'
import { misbehaviours, serve, type Misbehaviour } from './servers.ts'

const key = 'Kq7vX2xpL9zRt4wBn8sYd3mHc6afJ1g'
const asking = `${imports}
const clerk = new Agent({ role: 'Clerk', goal: 'Help', model: 'openai/m', maxRetries: 0 })
export const crew = new Crew({ name: 'asking', verbose: true, tasks: [new Task({ name: 'ask', description: 'Say it', agent: clerk })] })
`

test('a run against a server that repeats the key in base64 prints and stores none of it', async () => {
  await using server = await serve(misbehaviours['repeats the header in base64'] as Misbehaviour, key)
  await using folder = await project(asking)
  const variables = { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url }
  const run = await folder.call(['run', '--id', 'r'], { variables })
  assert.match(run.stderr, /HTTP 401: seen: /)
  const shown = await folder.call(['show', 'r', '--json'], { variables })
  assertNowhere(key, {
    printed: `${run.stdout}${run.stderr}${shown.stdout}${shown.stderr}`,
    stored: await storedIn(folder.path),
  })
})

test('the error of a crew file that throws an address with a password omits the password, in the stack too', async () => {
  await using folder = await project(`throw new Error('cannot reach postgres://ada:${key}/@1@db.example/x')`)
  const ended = await folder.reprise('run')
  assert.match(ended.stderr, /cannot reach postgres:\/\/\[redacted\]@db\.example\/x/)
  assertNowhere(key, { printed: `${ended.stdout}${ended.stderr}` })
})

test('doctor shows addresses without their secrets', async () => {
  await using folder = await project(asking)
  const variables = { OPENAI_BASE_URL: `ftp://host/v1?key=${key}`, REPRISE_STORE: `postgres://ada:p/${key}@db/x` }
  const ended = await folder.call(['doctor'], { variables })
  assert.match(ended.stdout, /OPENAI_BASE_URL is "ftp:\/\/host/)
  assert.match(ended.stdout, /postgres:\/\/\[redacted\]@db\/x/)
  assertNowhere(key, { printed: `${ended.stdout}${ended.stderr}` })
})
