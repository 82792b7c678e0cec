// The UI messages of a run, while it happens and at its end.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task, type FlowRun, type Run } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { lastEntryNumber, toUIMessageStream, type RunUIMessage } from 'reprise/ui'
import { readExpose } from '../../src/ui/expose.ts'
import { createNarration } from '../../src/ui/narration.ts'
import { chunkWriter, type RunChunk } from '../../src/ui/chat/chunk-writer.ts'
import { writeRun } from '../../src/ui/write-run.ts'
import { busy, gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import type { Store } from '../../src/stores/store.ts'
import { atEveryAppend, entriesOf, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import { quiet } from '../flows/support.ts'
import { chunksOf, messageOf, shown } from './read-message.ts'
import { plays } from './told-crews.ts'

describe('while a model streams,', () => {
  test('its text arrives piece by piece', async () => {
    const more = gate()
    const run = await speakingCrew(speakingModel(() => ['Once ', more.wait, 'upon a time.'])).kickoff().started
    const states: string[] = []
    const chunks: RunChunk[] = []
    for await (const chunk of toUIMessageStream(run)) {
      chunks.push(chunk)
      if (chunk.type !== 'text-delta') continue
      states.push(shown(await messageOf(chunks)).at(-1) ?? '')
      more.open()
    }
    assert.deepEqual(states, ['Once …', 'Once upon a time.…'])
    assert.deepEqual(shown(await messageOf(chunks)), ['task note: executed', 'Once upon a time.', '--'])
  })

  test('the text of a failed try is retracted', async () => {
    const heard = gate()
    const model = speakingModel((call) => (call === 1 ? ['Wrong', heard.wait, busy()] : ['Right.']))
    const chunks: RunChunk[] = []
    for await (const chunk of toUIMessageStream(await speakingCrew(model).kickoff().started)) {
      chunks.push(chunk)
      if (chunk.type === 'text-delta') heard.open()
    }
    const wrong = chunks.findIndex((chunk) => chunk.type === 'text-delta' && chunk.delta === 'Wrong')
    assert.deepEqual(shown(await messageOf(chunks.slice(0, wrong + 1))), ['task note: running', 'Wrong…'])
    assert.deepEqual(shown(await messageOf(chunks)), ['task note: executed', 'Right.', '--'])
  })

  test('half a reply of a stopped run is gone when the run continues', async () => {
    const [store, stop] = [newStore(), new AbortController()]
    const crew = speakingCrew(
      speakingModel(() => ['Half of', new Promise(() => {})]),
      { store },
    )
    const run = await crew.kickoff({ id: 'r', signal: stop.signal }).started
    const chunks: RunChunk[] = []
    for await (const chunk of toUIMessageStream(run)) {
      chunks.push(chunk)
      if (chunk.type === 'text-delta') break
    }
    // the page has this much when it loses its server
    const cut = await messageOf(chunks)
    assert.deepEqual(shown(cut), ['task note: running', 'Half of…'])
    stop.abort()
    await run.result()
    const other = speakingCrew(
      speakingModel(() => ['A whole reply.']),
      { store },
    )
    const rest = await chunksOf(toUIMessageStream(await other.resume('r').started, { after: lastEntryNumber(cut) }))
    assert.deepEqual(shown(await messageOf(rest, cut)), ['task note: executed', 'A whole reply.', '--'])
  })

  test('parallel tasks are not mixed up', async () => {
    const gates = { one: gate(), two: gate() }
    const model = (name: 'one' | 'two') => speakingModel(() => [`${name} begins `, gates[name].wait, 'and ends.'])
    const tasks = (['one', 'two'] as const).map((name) => {
      const agent = new Agent({ role: name, goal: 'Speak', model: model(name) })
      return new Task({ name, description: `Say ${name}`, agent, context: [] })
    })
    const crew = new Crew({ name: 'both', process: 'parallel', tasks, store: newStore() })
    const chunks: RunChunk[] = []
    for await (const chunk of toUIMessageStream(await crew.kickoff().started)) {
      chunks.push(chunk)
      const spoken = chunks.filter(({ type }) => type === 'text-start').length
      if (spoken === 2) gates.two.open()
      if (chunk.type === 'data-task' && chunk.data.name === 'two' && chunk.data.status === 'executed') gates.one.open()
    }
    assert.deepEqual(shown(await messageOf(chunks)), [
      'task one: executed',
      'task two: executed',
      'two begins and ends.',
      '--',
      'one begins and ends.',
      '--',
    ])
    const message = await messageOf(chunks)
    const origins = message.parts.flatMap((part) => (part.type === 'text' ? [part.providerMetadata?.['reprise']] : []))
    assert.deepEqual(origins, [
      { task: 'two', path: 'two#1/1', agent: 'two' },
      { task: 'one', path: 'one#1/1', agent: 'one' },
    ])
  })

  test('of a child run, its text is shown within the step that runs it, and stays when that is over', async () => {
    const more = gate()
    const flow = new Flow({
      name: 'talks',
      store: newStore(),
      logger: quiet,
      async run(f) {
        const model = speakingModel((call) => (call === 1 ? ['Once ', more.wait, 'upon a time.'] : ['Twice.']))
        await f.run(speakingCrew(model, { tasks: ['one', 'two'] }), {}, { name: 'tale', key: 'rye' })
        await f.step('after', { effect: 'read' }, () => 'over')
      },
    })
    const states: string[][] = []
    const chunks: RunChunk[] = []
    for await (const chunk of toUIMessageStream(await flow.kickoff({ id: 'r' }).started)) {
      chunks.push(chunk)
      if (chunk.type !== 'text-delta' && chunk.type !== 'text-end') continue
      states.push(shown(await messageOf(chunks)))
      more.open()
    }
    const begun = 'task tale[rye]: running'
    assert.deepEqual(states, [
      [begun, 'Once …'],
      [begun, 'Once upon a time.…'],
      [begun, 'Once upon a time.'],
      [begun, 'Once upon a time.', 'Twice.…'],
      [begun, 'Once upon a time.', 'Twice.'],
    ])
    // nothing was taken back
    assert.equal(chunks.filter(({ type }) => type === 'reset-step').length, 1)
    const message = await messageOf(chunks)
    assert.deepEqual(shown(message), [
      'task tale[rye]: executed',
      'Once upon a time.',
      'Twice.',
      '--',
      'task after: executed',
    ])
    const origins = message.parts.flatMap((part) => (part.type === 'text' ? [part.providerMetadata?.['reprise']] : []))
    assert.deepEqual(origins, [
      { task: 'tale[rye]', within: 'one', path: 'tale[rye]#1/one#1/1', agent: 'Clerk' },
      { task: 'tale[rye]', within: 'two', path: 'tale[rye]#1/two#1/1', agent: 'Clerk' },
    ])
    assert.deepEqual(await messageOf(await chunksOf(toUIMessageStream(flow.run('r')))), message)
  })

  test('of a child run, a process killed at any append and the next one tell the same message together', async () => {
    const says = (role: string, ...pieces: string[]) =>
      new Agent({ role, goal: 'Speak', model: speakingModel(() => pieces) })
    const talks = (store: Store): Flow => {
      const tale = new Crew({
        name: 'tale',
        tasks: [
          new Task({ name: 'one', description: 'Say it', agent: says('One', 'Once ', 'upon ') }),
          new Task({ name: 'two', crew: speakingCrew(speakingModel(() => ['a ', 'time.'])) }),
        ],
      })
      const run = async (f: FlowRun) => {
        await f.run(says('Title', 'A ', 'title.'), 'Find a title')
        return (await f.run(tale)).raw
      }
      return new Flow({ name: 'talks', store, logger: quiet, run })
    }
    const undisturbed = newStore()
    await talks(undisturbed).kickoff({ id: 'r' })
    const whole = shown(await messageOf(await chunksOf(toUIMessageStream(talks(undisturbed).run('r')))))
    assert.deepEqual(
      whole.filter((part) => !part.startsWith('task')),
      ['A title.', '--', 'Once upon ', 'a time.', '--'],
    )
    let cuts = 0
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const chunks: RunChunk[] = []
      const live = async (): Promise<void> => {
        const run = await talks(dying(ofGoneProcess(store))).kickoff({ id: 'r' }).started
        for await (const chunk of toUIMessageStream(run)) chunks.push(chunk)
      }
      await orDeath(live())
      const cut = await messageOf(chunks)
      if (cut.parts.some((part) => part.type === 'text')) cuts++
      const run = await talks(store).kickoff({ id: 'r' }).started
      const rest = await chunksOf(toUIMessageStream(run, { after: lastEntryNumber(cut) }))
      assert.deepEqual(shown(await messageOf(rest, chunks.length === 0 ? undefined : cut)), whole)
    })
    assert.ok(cuts > 5)
  })

  test('of a child run, another process has the same message in the end, reply by reply', async () => {
    const [store, go] = [newStore(), gate()]
    const inner = speakingCrew(
      speakingModel((call) => (call === 1 ? ['Once ', 'more.'] : ['And ', go.wait, 'again.'])),
      { store, tasks: ['one', 'two'] },
    )
    const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew: inner })], store })
    const here = chunksOf(toUIMessageStream(await crew.kickoff({ id: 'r' }).started))
    const there: RunChunk[] = []
    for await (const chunk of toUIMessageStream(crew.with({ store }).run('r'))) {
      there.push(chunk)
      // the first reply, while the second is under way
      if (chunk.type === 'text-delta') go.open()
    }
    assert.deepEqual(await messageOf(there), await messageOf(await here))
    const deltas = (chunks: readonly RunChunk[]) => chunks.filter(({ type }) => type === 'text-delta').length
    assert.deepEqual([deltas(await here), deltas(there)], [4, 2])
  })

  test('another process, which gets no stream, has the same message in the end', async () => {
    const [store, go] = [newStore(), gate()]
    const crew = speakingCrew(
      speakingModel(() => ['Once ', go.wait, 'more.']),
      { store },
    )
    const here = chunksOf(toUIMessageStream(await crew.kickoff({ id: 'r' }).started))
    const there = chunksOf(toUIMessageStream(crew.with({ store }).run('r')))
    go.open()
    assert.deepEqual(await messageOf(await there), await messageOf(await here))
    const deltas = (chunks: readonly RunChunk[]) => chunks.filter(({ type }) => type === 'text-delta').length
    assert.deepEqual([deltas(await here), deltas(await there)], [2, 1])
  })

  test('a listener who joins and leaves changes nothing in the journal', async () => {
    const bodies = async (listen: (run: Run) => Promise<unknown>) => {
      const store = newStore()
      const crew = speakingCrew(
        speakingModel(() => ['Once ', 'more.']),
        { store, tasks: ['one', 'two'] },
      )
      const run = await crew.kickoff({ id: 'r' }).started
      await listen(run)
      await run.result()
      // what differs from one run to the next
      const same = { at: '', prev: '', startedAt: '', owner: '', incarnation: '' }
      return (await entriesOf(store, 'r')).map((entry) => ({ ...entry, ...same }))
    }
    const unheard = await bodies(async () => undefined)
    assert.deepEqual(await bodies((run) => chunksOf(toUIMessageStream(run))), unheard)
    const leaving = async (run: Run) => {
      for await (const chunk of toUIMessageStream(run)) if (chunk.type === 'text-delta') return
    }
    assert.deepEqual(await bodies(leaving), unheard)
  })
})

describe('the message of a run', () => {
  test('has a tool that needs approval in the form of the SDK, and the question with everything that decides it', async () => {
    const { chunks } = await plays['an open question']!()
    const message = await messageOf(chunks)
    assert.deepEqual(shown(message), [
      'task facts: executed',
      'I look it up.',
      'tool-lookup facts#1/1.0: output-available',
      'tool-lookup facts#1/1.1: output-error',
      '--',
      'Ada has P-77.',
      '--',
      'task claim: waiting',
      'I file it.',
      'tool-file_claim claim#1/1.0: approval-requested',
      'question q1: open',
    ])
    const question = message.parts.findLast((part) => part.type === 'data-question')!.data
    assert.equal(question.kind, 'call')
    assert.deepEqual(question.kind === 'call' && [question.tool, question.input], ['file_claim', { policy: 'P-77' }])
    assert.deepEqual(
      question.decisions.map(({ decision }) => decision),
      ['approve', 'deny', 'use', 'fail'],
    )
    assert.deepEqual(question.asking[0]?.outputs, [{ task: 'facts', raw: 'Ada has P-77.' }])
    assert.equal(message.metadata?.status, 'suspended')
    const finish = chunks.at(-1)
    assert.equal(finish?.type === 'finish' && finish.finishReason, 'tool-calls')
  })

  test('has each question with the person asked, and the answer', async () => {
    const approved = await lastTool('an approval with another input')
    assert.deepEqual(
      [approved.state, approved.input, approved.output],
      ['output-available', { policy: 'P-78' }, { claim: 'CL-P-78' }],
    )
    assert.equal((await lastTool('a denial')).state, 'output-denied')
    assert.equal((await lastTool('a denial')).approval?.reason, 'too early')
    assert.equal((await lastTool('a task that a person has fail')).state, 'output-error')
  })

  test('names the refused answers, and keeps their texts', async () => {
    const message = await messageOf((await plays['an answer that a guardrail refuses']!()).chunks)
    assert.deepEqual(shown(message), [
      'task note: executed',
      'Dear Ada, this is a long note.',
      '--',
      'Dear Ada: done.',
      '--',
    ])
    const [task] = message.parts.flatMap((part) => (part.type === 'data-task' ? [part.data] : []))
    assert.equal(task?.attempt, 2)
    assert.deepEqual(
      task?.refusals.map(({ attempt, reason }) => [attempt, reason]),
      [[1, 'it is not short']],
    )
  })

  test('has the text and the calls of a coworker under its name', async () => {
    const message = await messageOf((await plays['work for a coworker']!()).chunks)
    assert.deepEqual(shown(message), [
      'task who: executed',
      'I ask.',
      'tool-delegate_work who#1/1.0: output-available',
      'I look.',
      'tool-lookup who#1/1.0/expert#1/1.0: output-available',
      'It is Ada.',
      '--',
      'So it is.',
      '--',
    ])
    const agents = message.parts.flatMap((part) =>
      part.type === 'text' ? [part.providerMetadata?.['reprise']?.['agent']] : [],
    )
    assert.deepEqual(agents, ['Lead', 'Expert', 'Expert', 'Lead'])
  })

  test('has no text of a model that judges an answer', async () => {
    const model = scriptedModel([
      { when: /guardrail|polite/i, after: /Dear Ada/, reply: { verdict: 'accepted', accepted: true, reason: 'fine' } },
      { when: 'Write', reply: 'Dear Ada.' },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Write', model })
    const task = new Task({ name: 'note', description: 'Write', agent, guardrails: 'It is polite' })
    const crew = new Crew({ name: 'judged', tasks: [task], store: newStore() })
    const run = await crew.kickoff({ id: 'r' }).started
    const message = await messageOf(await chunksOf(toUIMessageStream(run)))
    assert.ok(model.calls.length > 1)
    assert.deepEqual(
      message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
      ['Dear Ada.'],
    )
  })

  test('has the questions of a nested crew, and their outcomes', async () => {
    const { crew, chunks } = await plays['a crew as a task']!()
    const rest = chunks.findIndex(({ type }) => type === 'finish')
    const waiting = await messageOf(chunks.slice(0, rest + 1))
    assert.deepEqual(shown(waiting), ['task inner: waiting', 'I file it.', '--', 'question inner/q1: open'])
    const message = await messageOf(await chunksOf(toUIMessageStream(crew.run('r'))))
    assert.deepEqual(shown(message), [
      'task inner: executed',
      'I file it.',
      '--',
      'question inner/q1: answered',
      'That is done.',
      '--',
      'task after: executed',
    ])
  })

  async function lastTool(play: string) {
    const message = await messageOf((await plays[play]!()).chunks)
    const part = message.parts.findLast((one) => one.type === 'tool-file_claim')
    return part as { state: string; input: unknown; output?: unknown; approval?: { reason?: string } }
  }
})

describe('the end of a stream', () => {
  test('of a run that was suspended and resumed comes once', async () => {
    const crew = speakingCrew(
      speakingModel(() => ['Done.']),
      { tasks: ['one', 'two'] },
    )
    await crew.kickoff({ id: 'r', through: 'one' })
    await crew.resume('r')
    const chunks = await chunksOf(toUIMessageStream(crew.run('r')))
    assert.deepEqual(
      chunks.filter(({ type }) => ['finish', 'abort', 'error'].includes(type)),
      [chunks.at(-1)],
    )
    const finish = chunks.at(-1)
    assert.equal(finish?.type === 'finish' && finish.messageMetadata?.status, 'completed')
  })

  test('of a run that failed is an error, after everything else', async () => {
    const crew = speakingCrew(speakingModel(() => [new Error('no such model')]))
    await crew.kickoff({ id: 'r' }).catch(() => undefined)
    const chunks = await chunksOf(toUIMessageStream(crew.run('r'), { expose: { errors: true } }))
    const last = chunks.at(-1)
    assert.match((last?.type === 'error' && last.errorText) || '', /no such model/)
    assert.deepEqual(shown(await messageOf(chunks)), ['task note: failed'])
  })

  test('of a run that failed has no key in it', async () => {
    const key = `sk-proj-${'abc123DEF456'.repeat(4)}`
    const crew = speakingCrew(speakingModel(() => [new Error(`the key ${key} is not valid`)]))
    await crew.kickoff({ id: 'r' }).catch(() => undefined)
    const told = JSON.stringify(await chunksOf(toUIMessageStream(crew.run('r'), { expose: true })))
    assert.match(told, /is not valid/)
    assert.ok(!told.includes(key))
  })

  test('of a cancelled run says so', async () => {
    const asked = gate()
    const model = speakingModel(() => (asked.open(), ['Half', new Promise(() => {})]))
    const run = await speakingCrew(model).kickoff({ id: 'r' }).started
    const chunks = chunksOf(toUIMessageStream(run))
    await asked.wait
    await run.cancel({ by: 'Ada' })
    assert.equal((await chunks).at(-1)?.type, 'abort')
    assert.equal((await messageOf(await chunks)).metadata?.status, 'cancelled')
    assert.deepEqual(
      (await messageOf(await chunks)).parts.filter(({ type }) => type === 'text'),
      [],
    )
  })

  test('has no address and nothing else of the error if the journal becomes unreadable', async () => {
    const narration = createNarration('r', readExpose(undefined))
    const events = {
      next: () => Promise.reject(new Error('connect postgres://ada:secret@db/runs')),
      [Symbol.asyncIterator]() {
        return this
      },
    }
    const pieces = writeRun({ events, asked: async () => [] }, narration, chunkWriter(narration, 'm'), 0)
    const said: RunChunk[] = []
    for await (const piece of pieces) said.push(...piece)
    assert.deepEqual(said.at(-1), { type: 'error', errorText: 'the events of run r cannot be read any further' })
  })

  test('is an interruption if the store is closed, so that clients reconnect', async () => {
    const [asked, go] = [gate(), gate()]
    const crew = speakingCrew(
      speakingModel(() => (asked.open(), [go.wait, 'Done.'])),
      { store: 'memory:' },
    )
    const run = await crew.kickoff({ id: 'r' }).started
    const chunks = chunksOf(toUIMessageStream(run))
    await asked.wait
    await crew.close()
    const last = (await chunks).at(-1)
    assert.equal(last?.type === 'finish' && last.finishReason, 'interrupted')
    go.open()
    await run.result().catch(() => undefined)
  })
})

test('an assistant message that belongs to no run, or is invalid, is continued from its beginning', () => {
  const message = (metadata: unknown): RunUIMessage =>
    ({ id: 'm', role: 'assistant', parts: [{ type: 'step-start' }], metadata }) as RunUIMessage
  for (const metadata of [undefined, null, {}, { entry: '7', steps: 0 }, { entry: -1, steps: 0 }, { entry: 1e99 }])
    assert.equal(lastEntryNumber(message(metadata)), 0)
  assert.equal(lastEntryNumber(undefined), 0)
  assert.equal(lastEntryNumber(message({ entry: 7, steps: 1 })), 7)
  assert.equal(lastEntryNumber(message({ entry: 7, steps: 2 })), 6)
})
