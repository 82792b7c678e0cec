// Files as inputs: read once, kept by hash, sent to the model, and refused before anything is spent when they cannot be
// used.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Crew, file, RepriseError, Task, tool } from 'reprise'
import { z } from 'zod'
import { exportRun } from '../../../src/engine/history/export-run.ts'
import { importRun } from '../../../src/engine/history/import-run.ts'
import { openEngine, realWorld } from '../../../src/engine/world.ts'
import { hashBytes } from '../../../src/journal/hash.ts'
import { openStore } from '../../../src/stores/open-store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, stateOf, refusal } from '../../engine/support.ts'
import { chatReply, openServer, sendJson } from '../../models/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { fileCrew } from './file-crew.ts'

const pdf = Buffer.from('%PDF-1.7\n\x00\x01\xff binary', 'latin1')
const seenPdf = `claim.pdf application/pdf ${hashBytes(pdf)}`

async function claimFile(bytes: Uint8Array = pdf, name = 'claim.pdf') {
  const folder = await temporaryFolder()
  const path = join(folder.path, name)
  writeFileSync(path, bytes)
  return { path, folder: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

/** How often each blob was handed to the store, by hash. */
function countingBlobs(inner: Store): { store: Store; stored: string[] } {
  const stored: string[] = []
  const note = (batch: Parameters<Store['create']>[1]): void =>
    void stored.push(...(batch.blobs ?? []).map(({ hash }) => hash))
  const store: Store = {
    ...inner,
    create: (run, batch, lease) => (note(batch), inner.create(run, batch, lease)),
    append: (lease, after, batch) => (note(batch), inner.append(lease, after, batch)),
  }
  return { store, stored }
}

describe('an input file', () => {
  test('goes with the message of the task that names it, and with no other', async () => {
    await using claim = await claimFile()
    const { crew, seen, calls } = fileCrew(newStore())
    const result = await crew.kickoff({ id: 'r', inputs: { claim: file(claim.path) } })
    assert.deepEqual(seen, [[seenPdf], []])
    assert.match(calls[0]?.lastMessage ?? '', /^Task: Read \[file claim\.pdf\]\n/)
    assert.equal(result.tasks[0].raw, 'read [file claim.pdf]')
    const reference = { hash: hashBytes(pdf), name: 'claim.pdf', mediaType: 'application/pdf', bytes: pdf.length }
    assert.deepEqual(result.tasks[0].messages[0], {
      role: 'user',
      text: 'Task: Read [file claim.pdf]',
      files: [reference],
    })
    const [summary] = await crew.runs().page()
    assert.deepEqual(summary?.inputs, { claim: { $file: reference } })
  })

  test('reaches a server as a file part after the text', async () => {
    await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Done.' })))
    const model = createOpenAI({ apiKey: 'k', baseURL: server.url }).chat('gpt-test')
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const look = new Task({ name: 'look', description: 'Compare {claim}, {photo} and {claim} with {notes}', agent })
    const crew = new Crew({ name: 'wire', tasks: [look], store: newStore() })
    const photo = Buffer.from('\x89PNG\r\n\x1a\n...', 'latin1')
    const inputs = {
      claim: file(pdf, { name: 'claim.pdf' }),
      photo: file(photo, { name: 'photo' }),
      notes: file(Buffer.from('two\nlines'), { name: 'notes.txt' }),
    }
    await crew.kickoff({ inputs })
    const [, user] = (server.received[0]?.body['messages'] ?? []) as { role: string; content: unknown }[]
    const text =
      'Task: Compare [file claim.pdf], [file photo] and [file claim.pdf] with [file notes.txt]\n\n--- [file notes.txt] ---\ntwo\nlines'
    const data = `data:application/pdf;base64,${pdf.toString('base64')}`
    assert.deepEqual(user?.content, [
      { type: 'text', text },
      { type: 'file', file: { filename: 'claim.pdf', file_data: data } },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${photo.toString('base64')}` } },
    ])
  })

  test('of text is sent as text, so that the message stays one text', async () => {
    await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Done.' })))
    const model = createOpenAI({ apiKey: 'k', baseURL: server.url }).chat('gpt-test')
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = [new Task({ name: 'look', description: 'Read {table}', agent })] as const
    const table = file(Buffer.from('a,b\n1,2\n'), { name: 'table.csv' })
    await new Crew({ name: 'wire', tasks, store: newStore() }).kickoff({ inputs: { table } })
    const [, user] = (server.received[0]?.body['messages'] ?? []) as { content: unknown }[]
    assert.equal(user?.content, 'Task: Read [file table.csv]\n\n--- [file table.csv] ---\na,b\n1,2\n')
  })

  test('in an item of a list goes with the message whose text uses it, into the run of a nested crew, and to functions', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: 'x' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    type Item = { readonly name: string; readonly doc: never }
    const list = {
      context: [] as const,
      forEach: ({ inputs }: { readonly inputs: object }) => (inputs as { claims: Item[] }).claims,
      key: ({ name }: Item) => name,
    }
    const read = new Task({ name: 'read', description: 'Read {item.doc}', agent, ...list })
    const name = new Task({ name: 'name', description: 'Name {item.name}', agent, ...list })
    const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'in', description: 'Read {item}', agent })] })
    const nested = new Task({ name: 'nested', crew: inner, ...list })
    const bytes = new Task({
      name: 'bytes',
      effect: 'read',
      ...list,
      run: async ({ item, readFile: bytesOf }) => (await bytesOf(item.doc)).length,
    })
    const store = newStore()
    const crew = new Crew({ name: 'items', tasks: [read, name, nested, bytes], store })
    const fake = { $file: { hash: 'x', name: 'fake.pdf', mediaType: 'application/pdf', bytes: 1 } }
    const claims = [{ name: 'a', doc: file(pdf, { name: 'claim.pdf' }), fake }]
    const result = await crew.kickoff({ id: 'r', inputs: { claims } })
    const files = async (run: string, attempt: string) =>
      (await stateOf(store, run)).attempts.get(attempt)?.request.files?.map((sent) => sent.name)
    assert.deepEqual(await files('r', 'read[a]#1'), ['claim.pdf'])
    assert.equal(await files('r', 'name[a]#1'), undefined)
    assert.deepEqual(await files('r/nested[a]#1', 'in#1'), ['claim.pdf'])
    assert.deepEqual(result.task('bytes').output, [pdf.length])
  })

  test('may be inside lists and objects, come from a URL or from bytes, and have a name of its own', async () => {
    await using claim = await claimFile()
    const { crew, seen, calls } = fileCrew(newStore())
    const bytes = new Uint8Array([1, 2, 3])
    const other = file(bytes, { name: 'x.bin', mediaType: 'application/octet-stream' })
    const list = [file(pathToFileURL(claim.path), { name: 'first.pdf' }), { more: other, n: 1 }]
    const kicked = crew.kickoff({ inputs: { claim: list } })
    await kicked
    assert.match(calls[0]?.lastMessage ?? '', /Read \["\[file first\.pdf\]",\{"more":"\[file x\.bin\]","n":1\}\]/)
    assert.deepEqual(seen[0], [
      `first.pdf application/pdf ${hashBytes(pdf)}`,
      `x.bin application/octet-stream ${hashBytes(bytes)}`,
    ])
  })

  test('lends its name to the path of an output file', async () => {
    await using claim = await claimFile()
    const before = process.cwd()
    process.chdir(claim.folder)
    try {
      const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task', reply: 'ok' }]) })
      const tasks = [new Task({ name: 't', description: 'Read', agent, outputFile: 'out/{claim}.md' })] as const
      const result = await new Crew({ name: 'named', tasks, store: newStore() }).kickoff({
        inputs: { claim: file('claim.pdf') },
      })
      assert.equal(result.tasks[0].outputFile, 'out/claim.pdf.md')
    } finally {
      process.chdir(before)
    }
  })

  test('is sent to the model that judges by a sentence, too', async () => {
    const seen: number[] = []
    const script = scriptedModel([
      { when: 'The rule:', reply: { accept: true, reason: '' } },
      { when: 'Task:', reply: 'ok' },
    ])
    const model: typeof script = {
      ...script,
      async doGenerate(request) {
        const parts = request.prompt.flatMap((message) => (message.role === 'user' ? message.content : []))
        seen.push(parts.filter((part) => part.type === 'file').length)
        return script.doGenerate(request)
      },
    }
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const task = new Task({ name: 't', description: 'Read {claim}', agent, guardrails: 'It agrees with the claim' })
    const crew = new Crew({ name: 'judged', tasks: [task], store: newStore() })
    await crew.kickoff({ inputs: { claim: file(pdf, { name: 'claim.pdf' }) } })
    assert.deepEqual(seen, [1, 1])
  })
})

for (const kind of ['sqlite', 'file'] as const) {
  describe(`the bytes of input files, in a ${kind} store,`, () => {
    const urlIn = (folder: string): string =>
      kind === 'sqlite' ? `sqlite:${join(folder, 'runs.db')}` : `file:${join(folder, 'state')}`

    test('survive the original, for a resume in another process', async () => {
      await using claim = await claimFile()
      const url = urlIn(claim.folder)
      const { crew, seen } = fileCrew(url)
      // the second life asks the model, not the first
      const stop = AbortSignal.abort()
      await crew.kickoff({ id: 'r', inputs: { claim: file(claim.path) }, signal: stop })
      await crew.close()
      assert.deepEqual(seen, [])
      rmSync(claim.path)
      const program = join(import.meta.dirname, 'file-crew.ts')
      const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=reprise-source', program, url, 'r'])
      assert.deepEqual(JSON.parse(stdout), {
        status: 'completed',
        raw: 'read [file claim.pdf]',
        seen: [[seenPdf], []],
      })
    })

    test('are stored once, however often the file is given and named, and lines stay small', async () => {
      await using claim = await claimFile(randomBytes(10_000_000))
      const { store, stored } = countingBlobs(await openStore(urlIn(claim.folder)))
      try {
        const { crew, seen } = fileCrew(store, {}, 'Read {claim} and {again}')
        const again = [file(claim.path), file(claim.path, { name: 'copy.pdf' })]
        await crew.kickoff({ id: 'r', inputs: { claim: file(claim.path), again } as never })
        const hash = seen[0]?.[0]?.split(' ')[2]
        assert.equal(stored.filter((one) => one === hash).length, 1)
        assert.deepEqual(
          seen[0]?.map((one) => one.split(' ')[0]),
          ['claim.pdf', 'copy.pdf'],
        )
        for await (const { bytes } of store.read('r')) assert.ok(bytes.length < 4_000, `${bytes.length} bytes`)
        assert.equal((await store.blob('r', hash ?? ''))?.length, 10_000_000)
      } finally {
        await store.close()
      }
    })

    test('are copied to a fork, so that deleting the parent breaks nothing', async () => {
      await using claim = await claimFile()
      const store = await openStore(urlIn(claim.folder))
      try {
        const { crew, seen } = fileCrew(store)
        await crew.kickoff({ id: 'first', inputs: { claim: file(claim.path) } })
        rmSync(claim.path)
        await crew.replay('sum', { runId: 'first', id: 'second' })
        await crew.run('first').delete()
        const third = await crew.replay('read', { runId: 'second', id: 'third' })
        assert.equal(third.status, 'completed')
        assert.deepEqual(seen.at(-2), [seenPdf])
        await crew.run('second').delete()
        assert.deepEqual(await crew.backtest('read', { runs: ['third'] }).then(({ equal }) => equal), 1)
        assert.deepEqual(seen.at(-1), [seenPdf])
      } finally {
        await store.close()
      }
    })
  })
}

describe('an existing run with an input file', () => {
  test('needs no original: the same call continues with the stored bytes', async () => {
    await using claim = await claimFile()
    const { crew, seen } = fileCrew(newStore())
    const call = { id: 'r', inputs: { claim: file(claim.path) } }
    await crew.kickoff({ ...call, through: 'read' })
    rmSync(claim.path)
    assert.equal((await crew.kickoff(call)).status, 'completed')
    assert.deepEqual(seen, [[seenPdf], []])
    const [again] = await crew.kickoffForEach([call.inputs], { id: () => 'r' })
    assert.equal(again?.status, 'completed')
    assert.equal((await refusal(() => crew.kickoff({ ...call, id: 'other' }))).code, 'INPUT_INVALID')
    assert.equal((await refusal(() => crew.fork({ runId: 'r', inputs: call.inputs }))).code, 'INPUT_INVALID')
  })

  test('is not continued with a changed file, and the refusal names the file', async () => {
    await using claim = await claimFile()
    const { crew } = fileCrew(newStore())
    const call = { id: 'r', inputs: { claim: file(claim.path) } }
    await crew.kickoff(call)
    writeFileSync(claim.path, '%PDF-1.7 another')
    const { code, message } = await refusal(() => crew.kickoff(call))
    assert.equal(code, 'INPUTS_DIFFER')
    assert.match(message, /claim was "claim\.pdf \(19 bytes, application\/pdf, \S+\)" and is "claim\.pdf \(16 bytes/)
  })

  test('is forked with a changed file, and the diff has name, size and hash', async () => {
    await using claim = await claimFile()
    const { crew, seen } = fileCrew(newStore())
    await crew.kickoff({ id: 'a', inputs: { claim: file(claim.path) } })
    const same = await crew.refresh({ runId: 'a', inputs: { claim: file(claim.path) } })
    assert.equal(same.runId, 'a')
    writeFileSync(claim.path, '%PDF-1.7 another')
    const changed = await crew.fork({ runId: 'a', id: 'b', inputs: { claim: file(claim.path) } })
    assert.deepEqual(changed.plan?.[0]?.reasons, ['input claim changed'])
    assert.notDeepEqual(seen.at(-1), seen[0])
    const diff = await crew.run('a').diff('b')
    assert.equal(diff.inputs.length, 1)
    assert.match(
      JSON.stringify(diff.inputs[0]),
      /"path":"inputs.claim".*"a":"claim.pdf \(19 bytes, .*"b":"claim.pdf \(16 bytes/,
    )
  })

  test('lends its file to a fork whose inputs are given as they are shown', async () => {
    const { crew, seen } = fileCrew(newStore(), {}, 'Read {claim} for {reader}')
    await crew.kickoff({ id: 'a', inputs: { claim: file(pdf, { name: 'claim.pdf' }), reader: 'Ada' } as never })
    const { inputs } = await crew.run('a').view()
    await crew.fork({ runId: 'a', inputs: { ...inputs, reader: 'Bob' } as never })
    assert.deepEqual(seen[2], [seenPdf])
  })
})

test('beforeKickoff may pass files on, and add some', async () => {
  const store = newStore()
  const extra = Buffer.from('\x89PNG\r\n\x1a\nx', 'latin1')
  const beforeKickoff = (inputs: object) => ({ ...inputs, photo: file(extra, { name: 'photo.png' }) })
  const { crew, seen } = fileCrew(store, { beforeKickoff }, 'Read {claim} and {photo}')
  await crew.kickoff({ id: 'a', inputs: { claim: file(pdf, { name: 'claim.pdf' }) } })
  assert.deepEqual(seen[0], [seenPdf, `photo.png image/png ${hashBytes(extra)}`])
  await crew.fork({ runId: 'a', from: 'read', inputs: {} })
  assert.deepEqual(seen[2], seen[0])
})

describe('readFile', () => {
  const inputs = { claim: file(pdf, { name: 'claim.pdf' }), all: [file(Buffer.from('a,b'), { name: 'rows.csv' })] }

  test('returns the bytes to functions, conditions, guardrails, tools and callbacks, by input or by name', async () => {
    const read: string[] = []
    const note = async (who: string, reading: Promise<Uint8Array>): Promise<true> => {
      read.push(`${who}: ${hashBytes(await reading)}`)
      return true
    }
    const open = tool({
      name: 'open',
      description: 'Open a file',
      effect: 'read',
      input: z.object({ name: z.string() }),
      run: ({ name }, { readFile }) => note('tool', readFile(name)),
    })
    const model = scriptedModel([
      { when: 'Task: Open', calls: [{ tool: 'open', input: { name: 'claim.pdf' } }] },
      { when: 'Task: Open', reply: 'opened' },
    ])
    const first = new Task({
      name: 'first',
      run: ({ inputs: given, readFile }) => note('run', readFile(given['claim'])),
    })
    const second = new Task({
      name: 'second',
      description: 'Open {claim}',
      agent: new Agent({ role: 'A', goal: 'g', model, tools: [open] }),
      when: ({ inputs: given, readFile }) => note('when', readFile(given['claim'])),
      guardrails: ({ inputs: given, readFile }) => note('guardrail', readFile(given['claim'])),
      callback: (_, { readFile }) => note('callback', readFile('claim.pdf')),
    })
    const crew = new Crew({
      name: 'reading',
      tasks: [first, second],
      store: newStore(),
      async onStep({ kind, path }, { readFile }) {
        if (kind === 'model' && path === 'second#1/2') await note('onStep', readFile('claim.pdf'))
      },
    })
    await crew.kickoff({ inputs })
    const whose = ['run', 'when', 'tool', 'onStep', 'guardrail', 'callback']
    assert.deepEqual(
      read,
      whose.map((who) => `${who}: ${hashBytes(pdf)}`),
    )
  })

  test('returns the bytes to a resumed run whose original is gone, and to a fork of it', async () => {
    await using claim = await claimFile()
    const store = newStore()
    let up = false
    const size = new Task({
      name: 'size',
      effect: 'read',
      async run({ inputs: given, readFile }) {
        if (!up) throw new Error('down')
        return (await readFile(given['claim'])).length
      },
    })
    const crew = new Crew({ name: 'sizes', tasks: [size], store })
    await assert.rejects(crew.kickoff({ id: 'r', inputs: { claim: file(claim.path) } }))
    rmSync(claim.path)
    up = true
    assert.equal((await crew.resume('r')).output, pdf.length)
    const fork = await crew.replay('size')
    await crew.run('r').delete()
    assert.equal(fork.output, pdf.length)
  })

  test('refuses anything but a file of the run, and lists those', async () => {
    const asked = async (wanted: unknown, given: { [name: string]: object } = inputs): Promise<RepriseError> => {
      const { promise, resolve } = Promise.withResolvers<RepriseError>()
      const look = new Task({
        name: 'look',
        run: async ({ readFile }) => resolve(await refusal(() => readFile(wanted as never))),
      })
      await new Crew({ name: 'asking', tasks: [look], store: newStore() }).kickoff({ inputs: given })
      return promise
    }
    const there = /has no such file; it has claim\.pdf, rows\.csv$/
    const other = { $file: { hash: hashBytes('x'), name: 'claim.pdf', mediaType: 'application/pdf', bytes: 1 } }
    for (const wanted of ['../claim.pdf', undefined, { claim: 1 }, other, 7]) {
      const { code, message } = await asked(wanted)
      assert.equal(code, 'INPUT_INVALID')
      assert.match(message, there)
    }
    assert.match((await asked('claim.pdf', {})).message, /the inputs of run \S+ have no files/)
    const twins = [file(Buffer.from('a'), { name: 'a.txt' }), file(Buffer.from('b'), { name: 'a.txt' })]
    assert.match(
      (await asked('a.txt', { twins })).message,
      /several files of that name; give the file from the inputs instead/,
    )
  })
})

describe('data that looks like a file reference', () => {
  const alike = { $file: { hash: hashBytes(pdf), name: 'claim.pdf', mediaType: 'application/pdf', bytes: 20 } }

  test('stays data for the model, for functions and in listings', async () => {
    const store = newStore()
    const given: unknown[] = []
    const { calls, seen, crew: reading } = fileCrew(store)
    await reading.kickoff({ id: 'r', inputs: { claim: { a: alike, $$file: 1 } } })
    assert.deepEqual(seen, [[], []])
    assert.ok(calls[0]?.lastMessage.includes(JSON.stringify({ a: alike, $$file: 1 })))
    assert.deepEqual((await reading.run('r').view()).inputs, { claim: { a: alike, $$file: 1 } })
    assert.deepEqual((await reading.runs().page())[0]?.inputs, { claim: { a: alike, $$file: 1 } })
    const look = new Task({ name: 'look', run: ({ inputs }) => void given.push(inputs) })
    await new Crew({ name: 'code', tasks: [look], store }).kickoff({ inputs: { claim: alike } })
    assert.deepEqual(given, [{ claim: alike }])
    // on disk it has one more $, as no reference does
    const [first] = await entriesOf(store, 'r')
    assert.deepEqual(Object.keys((first as unknown as { inputs: { claim: object } }).inputs.claim), ['a', '$$$file'])
  })

  test('is distinguished from the file beside it', async () => {
    const { crew, seen, calls } = fileCrew(newStore(), {}, 'Read {claim} and {data}')
    const other = { $file: { ...alike.$file, hash: hashBytes('another') } }
    await crew.kickoff({ inputs: { claim: file(pdf, { name: 'claim.pdf' }), data: other } as never })
    assert.deepEqual(seen[0], [seenPdf])
    assert.ok(calls[0]?.lastMessage.includes(`Read [file claim.pdf] and ${JSON.stringify(other)}`))
  })
})

test('an exported run includes its files, whatever their bytes, and has all of them where it is imported', async () => {
  const store = newStore()
  const { crew } = fileCrew(store)
  // what would be a reference in a line of the journal
  const tricky = Buffer.from('{"$blob":"no such value"}')
  const claim = [file(tricky, { name: 'tricky.json' }), file(pdf, { name: 'claim.pdf' })]
  await crew.kickoff({ id: 'r', inputs: { claim }, through: 'read' })
  const text = (await Array.fromAsync(exportRun(store, 'r'))).join('')
  const elsewhere = newStore()
  await importRun(openEngine(elsewhere, realWorld()), [text])
  const { crew: there, seen } = fileCrew(elsewhere)
  await there.replay('read', { runId: 'r' })
  assert.deepEqual(seen[0], [seenPdf])
  assert.equal((await stateOf(elsewhere, 'r')).status, 'suspended')
})

describe('before anything is spent, a kickoff refuses', () => {
  async function refusedInput(claim: unknown): Promise<string> {
    const { crew, calls } = fileCrew(newStore())
    const { code, message } = await refusal(() => crew.kickoff({ inputs: { claim: claim as object } }))
    assert.equal(code, 'INPUT_INVALID')
    assert.equal(calls.length, 0)
    assert.equal((await crew.runs().page()).length, 0)
    return message
  }

  test('a missing file, a folder and an empty file', async () => {
    await using claim = await claimFile(Buffer.alloc(0))
    const gone = join(claim.folder, 'gone.pdf')
    assert.equal(
      await refusedInput([{ deep: file(gone) }]),
      `inputs.claim[0].deep is the file "${gone}", which does not exist (${gone}); check the path and the working folder`,
    )
    assert.match(await refusedInput(file(claim.folder)), /which is a folder; give a file/)
    assert.match(await refusedInput(file(claim.path)), /inputs\.claim is the file ".*claim\.pdf", which is empty/)
    assert.match(await refusedInput(file(new Uint8Array(), { name: 'x.pdf' })), /the file "x\.pdf", which is empty/)
  })

  test('a file that cannot be read', { skip: process.getuid?.() === 0 && 'root reads everything' }, async () => {
    await using claim = await claimFile()
    chmodSync(claim.path, 0)
    assert.match(await refusedInput(file(claim.path)), /which cannot be read: EACCES/)
  })

  test('a file larger than allowed', async () => {
    await using claim = await claimFile(Buffer.alloc(20 * 1024 * 1024 + 1))
    assert.match(
      await refusedInput(file(claim.path)),
      /has 20,971,521 bytes, more than the limit of 20,971,520; give a smaller file, or raise maxBytes/,
    )
    assert.match(await refusedInput(file(pdf, { name: 'a.pdf', maxBytes: 5 })), /19 bytes, more than the limit of 5;/)
  })

  test("a file of an unknown kind, and a text file that isn't text", async () => {
    await using claim = await claimFile(Buffer.from('???'), 'claim')
    assert.match(await refusedInput(file(claim.path)), /has an unknown media type; give it: file\(…, \{ mediaType/)
    const latin = Buffer.from('caf\xe9', 'latin1')
    assert.match(
      await refusedInput(file(latin, { name: 'menu.txt' })),
      /has the text type text\/plain, but is not UTF-8/,
    )
  })

  test('any of many files, before the first of their runs', async () => {
    const { crew, calls } = fileCrew(newStore())
    const good = { claim: file(pdf, { name: 'claim.pdf' }) }
    const { message } = await refusal(() => crew.kickoffForEach([good, { claim: file('gone.pdf') }]))
    assert.match(message, /^inputs\[1\]: inputs\.claim is the file "gone\.pdf", which does not exist/)
    assert.equal(calls.length, 0)
    assert.equal((await crew.kickoffForEach([good, good])).length, 2)
    assert.equal(calls.length, 4)
  })

  test('an invalid call of file()', async () => {
    const bad = file as (source: unknown, options?: object) => unknown
    assert.match((await refusal(() => bad('https://example.com/a.pdf'))).message, /fetch remote files first/)
    assert.match(
      (await refusal(() => bad(new URL('https://example.com/a.pdf')))).message,
      /give a path, a file: URL or bytes/,
    )
    assert.match((await refusal(() => bad(pdf))).message, /a file from bytes needs a name/)
    assert.match((await refusal(() => bad('a.pdf', { mediaType: 'pdf' }))).message, /mediaType of a file is "pdf"/)
    assert.match((await refusal(() => bad('a.pdf', { type: 'x' }))).message, /file has no option "type"/)
    assert.equal((await refusal(() => bad(undefined))).code, 'INPUT_INVALID')
    const { crew } = fileCrew(newStore())
    const { message } = await refusal(() => crew.kickoff({ inputs: file('a.pdf') as never }))
    assert.match(message, /inputs is a file; give an object/)
  })
})

test('the kind of a file comes from its name, else from its first bytes', async () => {
  const kinds: [string, string | Buffer, string][] = [
    ['a.PDF', 'x', 'application/pdf'],
    ['a.docx', 'PK', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['a.xlsx', 'PK', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['a.md', 'x', 'text/markdown'],
    ['a', '%PDF-', 'application/pdf'],
    ['a', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'image/jpeg'],
    ['a', 'GIF89a', 'image/gif'],
    ['a', 'RIFF0000WEBP', 'image/webp'],
    ['a', 'RIFF0000WAVE', 'audio/wav'],
    ['a.unknown', 'ID3', 'audio/mpeg'],
    ['a.constructor', '0000ftypisom', 'video/mp4'],
  ]
  const { crew } = fileCrew(newStore())
  const claim = kinds.map(([name, bytes]) => file(Buffer.from(bytes as string), { name }))
  await crew.kickoff({ id: 'r', inputs: { claim } })
  const { inputs } = await crew.run('r').view()
  assert.deepEqual(
    (inputs['claim'] as unknown as { $file: { mediaType: string } }[]).map(({ $file }) => $file.mediaType),
    kinds.map(([, , type]) => type),
  )
})
