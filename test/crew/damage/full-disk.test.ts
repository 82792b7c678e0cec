// A disk that is really full: the run stops with an error that says so, keeps its record, and continues once there is
// space.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

const steps = 20
for (const kind of ['sqlite', 'file']) {
  test(`a full disk under a ${kind} store stops the run, which continues once there is space`, async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-full-'))
    if (!mount(folder, '1m')) {
      await rm(folder, { recursive: true })
      return context.skip('this user cannot mount a small file system')
    }
    const done: number[] = []
    const fetch = tool({
      name: 'fetch',
      description: 'Fetch',
      effect: 'once',
      input: z.object({ n: z.number() }),
      run({ n }) {
        done.push(n)
        return String(n).repeat(100_000)
      },
      settle: (_, { n }) => (done.includes(n) ? { happened: true, result: 'settled' } : { happened: false }),
    })
    const calls = Array.from({ length: steps }, (_, n) => ({
      when: 'Do it',
      after: n,
      calls: [{ tool: 'fetch', input: { n } }],
    }))
    const model = scriptedModel([...calls, { when: 'Do it', after: steps, reply: 'done' }])
    const agent = new Agent({ role: 'W', goal: 'g', model, tools: [fetch], maxIterations: steps + 1 })
    const store = kind === 'sqlite' ? `sqlite:${join(folder, 'runs.db')}` : `file:${join(folder, 'state')}`
    const crew = new Crew({ name: 'full', tasks: [new Task({ name: 'job', description: 'Do it', agent })], store })
    try {
      await assert.rejects(crew.kickoff({ id: 'r' }), {
        code: 'STORE_FAILED',
        runId: 'r',
        message: /(full|no space|ENOSPC).*crew\.run\('r'\)\.resume\(\)/i,
      })
      const asked = model.calls.length
      assert.ok(asked > 1 && asked < steps)
      mount(folder, '64m', 'remount,')
      assert.equal(String(await crew.resume('r')), 'done')
      // only the call at the full disk, whose reply may be lost, is repeated
      assert.ok(model.calls.length <= steps + 2, `${model.calls.length} model calls`)
      assert.deepEqual(
        done,
        [...done].toSorted((a, b) => a - b),
      )
      assert.equal(new Set(done).size, done.length, 'no call was made twice')
    } finally {
      await crew.close()
      execFileSync('umount', [folder])
      await rm(folder, { recursive: true, force: true })
    }
    return undefined
  })
}

function mount(folder: string, size: string, more = ''): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `${more}size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
