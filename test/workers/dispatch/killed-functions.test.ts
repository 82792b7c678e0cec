import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { httpDispatcher } from 'reprise/http'
import { startWorker } from 'reprise/workers'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { isFull } from '../../support/full.ts'
import { kindsHere, storePlace } from '../../support/store-place.ts'
import { hearing } from '../worker-crews.ts'
import { callsPerTask, functionCrew } from './function-crew.ts'
import { startPlatform } from './platform.ts'

// nine tasks in the full test run cause fifty kills
const tasks = isFull ? 9 : 1

for (const { kind, skip } of await kindsHere('sqlite')) {
  test(
    `functions on ${kind} killed at their limit and at every step make as many model calls as undisturbed ones`,
    { skip },
    async () => {
      await using folder = await temporaryFolder()
      await using place = await storePlace(kind, folder.path)
      const secret = 'a secret that is long enough'
      await using platform = await startPlatform([place.url, folder.path, String(tasks), secret])
      await using crew = functionCrew({ store: place.url, folder: folder.path, tasks })
      await crew.enqueue({ id: 'r' })
      const ear = hearing()
      const dispatcher = httpDispatcher({ url: platform.url, secret })
      const options = { dispatcher, pollSeconds: 0.05, resendSeconds: 0.1, onEvent: ear.onEvent }
      await using _ = await startWorker([crew], options)
      while ((await crew.run('r').view()).status !== 'completed') await wait(50)
      assert.equal(readFileSync(join(folder.path, 'calls'), 'utf8').split('\n').length - 1, tasks * callsPerTask)
      const { hung, all } = platform.kills()
      assert.equal(hung, 2 * tasks)
      assert.ok(all >= 50 * (tasks / 9), `${all} kills`)
    },
  )
}
