// What a person sees of a run on a terminal while it is executed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { treeLines, type Line } from '../../src/cli/live/tree-lines.ts'
import { createTree, type LiveRun, type LiveTask } from '../../src/cli/live/tree.ts'
import { observeStore } from '../../src/cli/live/progress.ts'
import { openBlock } from '../../src/cli/output/block.ts'
import { plain } from '../../src/text/plain-text.ts'
import type { Paint } from '../../src/cli/output/terminal.ts'
import { columns } from '../../src/text/columns.ts'
import { z } from 'zod'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { Store } from '../../src/stores/store.ts'
import { busy, gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { newStore } from '../engine/support.ts'

describe('the live tree of a run', () => {
  test('has status, duration and cost of each task, and of the tasks of nested crews', async () => {
    const scene = nested()
    const { run, at } = await scene.kickOff()
    assert.deepEqual(at(1), ['● plan Clerk · asks the model', '○ research', '○ note Clerk'])
    assert.deepEqual(run.tasks.map(shown), ['✔ plan Clerk 15', '✔ research 15', '✔ note Clerk 15'])
    assert.deepEqual(run.tasks[1]?.tasks.map(shown), ['✔ find Clerk 15'])
    assert.equal(run.tokens, 45)
    // dollars per million tokens: 10 in at 1, 5 out at 2
    assert.equal(run.cost?.toFixed(6), '0.000060')
  })

  test('shows the recorded tasks of a resumed run, and the unfinished ones as running', async () => {
    const store = newStore()
    const stop = new AbortController()
    const first = nested({ store, hang: () => stop.abort() })
    await first.kickOff({ signal: stop.signal })
    const { at, run } = await nested({ store }).kickOff()
    assert.deepEqual(at(0), ['✔ plan Clerk', '● research · a crew at work', '○ note Clerk'])
    assert.deepEqual(run.tasks.map(shown), ['✔ plan Clerk 15', '✔ research 15', '✔ note Clerk 15'])
  })

  test('shows a function as running while it runs, and the open model calls', async () => {
    const [store, done] = [newStore(), gate()]
    const ping = (name: string, run: () => unknown) =>
      tool({ name, description: 'Ping', effect: 'read', input: z.object({}), run })
    const model = scriptedModel([
      {
        when: 'Check',
        calls: [
          { tool: 'one', input: {} },
          { tool: 'two', input: {} },
        ],
      },
      { when: 'Check', reply: 'Done.' },
    ])
    const agent = new Agent({
      role: 'Clerk',
      goal: 'Help',
      model,
      tools: [ping('one', () => done.wait), ping('two', () => 'pong')],
    })
    const tree = createTree(store, undefined, () => 0)
    const doing: (string | undefined)[] = []
    const observed = observeStore(store, async (entry, run) => {
      await tree.onEntry(entry, run)
      if (entry.type === 'tool.returned' && entry.path?.startsWith('check')) done.open()
      if (entry.type !== 'run.created')
        doing.push(tree.look(0)?.tasks.find(({ status }) => status === 'running')?.activity)
    })
    const tasks = [
      new Task({ name: 'load', run: () => 'text' }),
      new Task({ name: 'check', description: 'Check', agent }),
    ]
    await new Crew({ name: 'mixed', tasks, store: observed.store }).kickoff()
    await observed.delivered()
    const seen = doing.filter((words, index) => words !== undefined && words !== doing[index - 1])
    assert.deepEqual(seen[0], 'a function at work')
    // only after the entry that starts the task and calls its function
    assert.equal(doing.lastIndexOf('a function at work'), 0)
    assert.deepEqual(seen.slice(1), [
      'asks the model',
      'calls one, two',
      'calls one',
      'calls one, two',
      'calls one',
      'asks the model',
      'checks the answer',
    ])
  })

  test('shows the same time for a task in the executing process and in a later one', async () => {
    const store = newStore()
    const tree = createTree(store, undefined, () => 0)
    // a day lies between each two entries
    const day = 86_400_000
    const observed = observeStore(store, (entry, run) =>
      tree.onEntry({ ...entry, at: new Date(entry.seq * day).toISOString() }, run),
    )
    const agent = new Agent({ role: 'Clerk', goal: 'Help', model: scriptedModel([{ when: 'Help', reply: 'said' }]) })
    const tasks = ['first', 'second'].map((name) => new Task({ name, description: 'Help', agent }))
    await new Crew({ name: 'timed', tasks, store: observed.store }).kickoff()
    await observed.delivered()
    const times = (tree.look(0)?.tasks ?? []).map(({ ms = 0 }) => ms / day)
    assert.deepEqual(times, [2, 2])
  })

  test('counts the runs that a function kicks off', async () => {
    const store = newStore()
    const tree = createTree(store, undefined, () => 0)
    const doing: (string | undefined)[] = []
    const observed = observeStore(store, async (entry, run) => {
      await tree.onEntry(entry, run)
      if (run === 'r' && entry.type.startsWith('task.')) doing.push(tree.look(0)?.tasks[0]?.activity)
    })
    const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'say', effect: 'read', run: () => 'said' })] })
    const run = (): Promise<string> => inner.kickoffForEach([{ at: 1 }, { at: 2 }], { concurrency: 1 }).then(String)
    const tasks = [new Task({ name: 'kick', effect: 'idempotent', run })]
    await new Crew({ name: 'kicking', tasks, store: observed.store }).kickoff({ id: 'r' })
    await observed.delivered()
    assert.deepEqual(doing.slice(1, -1), ['0 of 1 run done', '1 of 1 run done', '1 of 2 runs done', '2 of 2 runs done'])
  })

  test('shows nothing as running once the run has stopped', async () => {
    const stop = new AbortController()
    const { run } = await nested({ hang: () => stop.abort() }).kickOff({ signal: stop.signal })
    assert.deepEqual(run.tasks.map(shown), ['✔ plan Clerk 15', '◌ research · stopped', '○ note Clerk'])
  })

  test('shows the text of the current reply until it is recorded or retracted', async () => {
    const [store, go] = [newStore(), gate()]
    const tree = createTree(store, undefined, () => 0)
    const observed = observeStore(store, (entry, run) => tree.onEntry(entry, run))
    const model = speakingModel((call) => (call === 1 ? ['Onc', go.wait, busy()] : ['Once more.']))
    const run = await speakingCrew(model, { store: observed.store }).kickoff().started
    const said: string[] = []
    for await (const event of run.events()) {
      if (!('seq' in event)) tree.onDelta(event)
      await observed.delivered()
      said.push(`${event.type}: ${tree.look(0)?.tasks[0]?.reply}`)
      if (event.type === 'text.delta') go.open()
    }
    assert.deepEqual(said.slice(2, 6), ['text.delta: Onc', 'text.reset: ', 'text.delta: Once more.', 'model.replied: '])
  })
})

test('the live tree shows what a nested crew says at its task, and not at the task that the crew is', async () => {
  const [store, go] = [newStore(), gate()]
  const tree = createTree(store, undefined, () => 0)
  const observed = observeStore(store, (entry, run) => tree.onEntry(entry, run))
  const inner = speakingCrew(speakingModel(() => ['Once ', go.wait, 'more.']))
  const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew: inner })], store: observed.store })
  const said: string[] = []
  for await (const event of (await crew.kickoff().started).events()) {
    if ('seq' in event) continue
    tree.onDelta(event)
    await observed.delivered()
    const [outer] = tree.look(0)?.tasks ?? []
    said.push(`${event.type}: ${outer?.reply}|${outer?.tasks[0]?.reply}`)
    go.open()
  }
  assert.deepEqual(said, ['text.delta: |Once ', 'text.delta: |Once more.', 'text.end: |'])
})

describe('the lines of the live tree', () => {
  const tasks = [
    task({ name: 'facts', status: 'executed', agent: 'Analyst', ms: 3200, tokens: 12_345, cost: 0.0123 }),
    task({
      name: 'decide',
      status: 'running',
      agent: 'Clerk',
      activity: 'writes',
      ms: 900,
      reply: 'It is a \u001b[31mflood\n',
    }),
    task({ name: 'note' }),
  ]
  const run = { runId: 'r1', crew: 'claims', tasks, ms: 4100, tokens: 12_345, cost: 0.0123 }

  test("are aligned, with the model's text below its task, and a sum", () => {
    assert.deepEqual(text(treeLines(run, { width: 64, height: 24 }, 0)), [
      'claims  run r1',
      '  ✔ facts   Analyst                  3.2s 12.3k tokens  $0.0123',
      '  ⠋ decide  Clerk · writes           0.9s',
      '    │ It is a flood',
      '  ○ note',
      '  4.1s · 12.3k tokens · $0.0123 · Ctrl-C stops',
    ])
  })

  test('have no texts, sum or spinner at the end', () => {
    const lines = text(treeLines(run, { width: 80, height: 24 }, undefined))
    assert.equal(lines.length, 4)
    assert.match(lines[2] ?? '', /^ {2}● decide/)
  })

  test('have the numbers of all tasks in one column at any depth', () => {
    const at = { status: 'executed', agent: 'Clerk', ms: 900, tokens: 91 } as const
    const deep = [task({ name: 'outer', ...at, tasks: [task({ name: 'inner', ...at })] })]
    const [, outer = '', inner = ''] = text(treeLines({ ...run, tasks: deep }, { width: 80, height: 20 }, 0))
    assert.equal(inner.indexOf('91 tokens'), outer.indexOf('91 tokens'))
  })

  test('have full names if there is room, and shorten names before they drop texts', () => {
    const name = 'collect-and-verify-the-policy-documents'
    const long = { ...run, crew: `${name}-of-the-north`, tasks: [task({ name, status: 'running', agent: 'Clerk' })] }
    const at = (width: number): string[] => text(treeLines(long, { width, height: 24 }, undefined))
    assert.deepEqual(at(100), [`${name}-of-the-north  run r1`, `  ● ${name}  Clerk`])
    assert.match(at(80)[1] ?? '', /^ {2}● collect-and-verify-the-polic…  Clerk/)
    const wider = { ...long, tasks: [task({ name: 'x'.repeat(120), agent: 'Clerk' })] }
    assert.match(text(treeLines(wider, { width: 200, height: 24 }, undefined))[1] ?? '', /^ {2}○ x{120} {2}Clerk/)
  })

  for (const width of [40, 60, 80, 200]) {
    for (const height of [5, 8, 24]) {
      test(`fit a terminal of ${width} by ${height}, and show what is running`, () => {
        const many = Array.from({ length: 30 }, (_, index) =>
          task({
            name: `task-${index}-${'x'.repeat(index)}`,
            status: index < 20 ? 'executed' : index === 20 ? 'running' : 'pending',
            agent: 'An agent with a long 役割',
            activity: 'calls a tool',
            ms: 100,
            tokens: 5,
            reply: index === 20 ? 'word '.repeat(100) : '',
          }),
        )
        const lines = text(treeLines({ ...run, tasks: many }, { width, height }, 3))
        assert.ok(lines.length < height, `${lines.length} lines`)
        for (const line of lines) assert.ok(columns(line) < width, line)
        assert.ok(
          lines.some((line) => line.includes('⠸ task-20')),
          lines.join('\n'),
        )
      })
    }
  }
})

describe('the lines of more tasks than rows', () => {
  const at = (index: number, status: LiveTask['status'], said: string) =>
    Array.from({ length: 40 }, (_, each) =>
      task({
        name: `task-${each}`,
        status: each < index ? 'executed' : each > index ? 'pending' : status,
        reply: each === index ? said : '',
      }),
    )
  const lines = (tasks: readonly LiveTask[], frame: number | undefined) =>
    text(treeLines({ runId: 'r1', crew: 'many', tasks, ms: 0, tokens: 0, cost: 0 }, { width: 80, height: 12 }, frame))

  test('include the text of the running model', () => {
    const seen = lines(at(20, 'running', 'Once upon a time.'), 0)
    const place = seen.findIndex((line) => line.includes('⠋ task-20'))
    assert.equal(seen[place + 1], '    │ Once upon a time.')
    assert.equal(seen.length, 11)
  })

  test('surround the current position while nothing is running', () => {
    const [, above, done, next] = lines(at(20, 'pending', ''), 0)
    assert.deepEqual([above, done?.trim(), next?.trim()], ['  … 19 tasks above', '✔ task-19', '○ task-20'])
  })

  test('cover all tasks at the end', () => {
    const [, ...seen] = lines(at(20, 'started', ''), undefined)
    assert.deepEqual(
      seen.map((line) => line.trim().slice(2)),
      Array.from({ length: 40 }, (_, each) => `task-${each}`),
    )
  })
})

describe('a live block at the bottom of a terminal', () => {
  test('is redrawn in place, and other output appears above it', () => {
    const screen = fakeTerminal()
    const [err, out] = [screen.stream(), screen.stream()]
    using block = openBlock(err, [out], paint)
    block.draw([['one'], ['two']])
    out.write('from a tool\n')
    block.draw([['three']])
    err.write('half a line')
    block.draw([['four'], ['five\n\u001b[2Jsix']])
    assert.deepEqual(screen.rows(), ['from a tool', 'half a line', 'four', 'five six'])
    block.clear()
    out.write('asked?\n')
    assert.deepEqual(screen.rows(), ['from a tool', 'half a line', 'asked?'])
  })

  test('is never visible half drawn', () => {
    const screen = fakeTerminal()
    const [err, out] = [screen.stream(), screen.stream()]
    using block = openBlock(err, [out], paint)
    block.draw([['one'], ['two']])
    out.write('from a tool\n')
    block.draw([['three'], ['four']])
    assert.deepEqual(screen.seen(), [
      ['one', 'two'],
      ['from a tool', 'one', 'two'],
      ['from a tool', 'three', 'four'],
    ])
    block.clear()
    out.write('alone\n')
    assert.deepEqual(screen.seen().slice(3), [['from a tool'], ['from a tool', 'alone']])
  })

  test('that fills the screen leaves no copies in the scrollback', () => {
    const screen = fakeTerminal()
    using block = openBlock(screen.stream(), [], paint)
    for (const second of [1, 2, 3]) block.draw([[`${second}s`], ['Ctrl-C stops']])
    assert.deepEqual(screen.rows(), ['3s', 'Ctrl-C stops'])
    assert.deepEqual(screen.kept(), [])
  })

  test('is redrawn below the output of a shell after the process was stopped', () => {
    const screen = fakeTerminal()
    const err = screen.stream()
    using block = openBlock(err, [], paint)
    block.draw([['one'], ['two']])
    screen.stream().write('Stopped\n')
    process.emit('SIGCONT')
    block.draw([['one'], ['three']])
    assert.deepEqual(screen.rows(), ['one', 'two', 'Stopped', 'one', 'three'])
  })

  test('restores the streams at the end', () => {
    const screen = fakeTerminal()
    const err = screen.stream()
    const { write } = err
    const block = openBlock(err, [], paint)
    block.draw([['last']])
    block[Symbol.dispose]()
    assert.equal(err.write, write)
    assert.equal(process.listenerCount('SIGCONT'), 0)
    err.write('after it\n')
    assert.deepEqual(screen.rows(), ['last', 'after it'])
  })

  test('cuts its lines to the terminal, and erases lines that a narrower terminal has wrapped', () => {
    const screen = fakeTerminal(20)
    const err = screen.stream()
    using block = openBlock(err, [], paint)
    block.draw([['x'.repeat(50)]])
    assert.deepEqual(screen.rows(), ['x'.repeat(19)])
    screen.resize(10)
    block.draw([['short']])
    assert.deepEqual(screen.rows(), ['short'])
  })
})

interface Scene {
  readonly store?: Store
  /** Called when the child's model is asked, which then never answers. */
  readonly hang?: () => void
}

/** A crew of three tasks, the second a crew of its own. */
function nested({ store = newStore(), hang }: Scene = {}) {
  const model = scriptedModel([{ when: /./, reply: 'Done.', usage: { input: 10, output: 5 } }])
  const stuck = { ...model, doGenerate: () => (hang?.(), new Promise<never>(() => {})) }
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
  const finder = new Agent({ role: 'Clerk', goal: 'Help', model: hang ? stuck : model })
  const find = new Task({ name: 'find', description: 'Find', agent: finder })
  const tasks = [
    new Task({ name: 'plan', description: 'Plan', agent }),
    new Task({ name: 'research', crew: new Crew({ name: 'inner', tasks: [find] }) }),
    new Task({ name: 'note', description: 'Note', agent }),
  ]
  async function kickOff(options: { readonly signal?: AbortSignal } = {}) {
    const prices = { [`${model.provider}/${model.modelId}`]: { input: 1, output: 2 } }
    const tree = createTree(store, prices, () => 0)
    const looks: string[][] = []
    const observed = observeStore(store, async (entry, run) => {
      await tree.onEntry(entry, run)
      looks.push((tree.look(0)?.tasks ?? []).map((one) => shown({ ...one, tokens: 0 })))
    })
    const crew = new Crew({ name: 'outer', tasks, store: observed.store })
    await crew.kickoff({ id: 'r', ...options })
    await observed.delivered()
    return { tree, run: tree.look(0) as LiveRun, at: (entry: number) => looks[entry] }
  }
  return { kickOff }
}

const signs = {
  pending: '○',
  running: '●',
  waiting: '?',
  sleeping: '◔',
  started: '◌',
  executed: '✔',
  inherited: '↺',
  edited: '✎',
  skipped: '–',
  left: '–',
  failed: '✖',
}

function shown({ status, name, agent, activity: doing, tokens }: LiveTask): string {
  const who = [agent, doing].filter(Boolean).join(agent ? ' · ' : '')
  const words = agent || doing === '' ? who : `· ${doing}`
  return [signs[status], name, words, tokens || ''].filter((part) => part !== '').join(' ')
}

function task(fields: Partial<LiveTask>): LiveTask {
  return {
    name: 'x',
    status: 'pending',
    agent: undefined,
    activity: '',
    ms: undefined,
    tokens: 0,
    cost: undefined,
    reply: '',
    tasks: [],
    ...fields,
  }
}

function text(lines: readonly Line[]): string[] {
  return lines.map((line) => line.map(paint).join('').trimEnd())
}

const paint: Paint = (piece) => plain(typeof piece === 'string' ? piece : piece.text)

/**
 * Understands what a block writes: line feeds, the cursor going up, and erasing a row or all below. Lines are broken at
 * its width. A screen that is erased from its first row down is kept, as tmux does it, among the lines that were
 * scrolled off.
 */
function fakeTerminal(width = 80) {
  const kept: string[] = []
  const seen: string[][] = []
  let updating = false
  let lines = ['']
  let row = 0
  let now = width
  const write = (chunk: string): boolean => {
    for (const [piece, up] of chunk.matchAll(/\u001b\[(\d*)A|\u001b\[2K|\u001b\[J|\u001b\[\?2026[hl]|[^\u001b]+/g)) {
      if (piece.includes('2026')) updating = piece.endsWith('h')
      else if (up !== undefined) row = Math.max(0, row - Number(up || 1))
      else if (piece === '\u001b[2K') lines[row] = ''
      else if (piece === '\u001b[J') {
        if (row === 0) kept.push(...lines)
        lines = [...lines.slice(0, row), '']
      } else type(piece)
    }
    if (!updating) seen.push(lines.slice(0, row))
    return true
  }
  const type = (piece: string): void => {
    for (const character of piece) {
      if (character === '\n') lines[++row] ??= ''
      else if (character !== '\r') lines[row] += character
    }
  }
  return {
    stream: () =>
      ({
        isTTY: true,
        rows: 24,
        write,
        get columns() {
          return now
        },
      }) as unknown as NodeJS.WriteStream,
    rows: () => lines.slice(0, row),
    kept: () => kept,
    /** What stood there after each time that something was written, but for updates that were not ended yet. */
    seen: () => seen,
    resize(next: number) {
      now = next
      const broken = lines.flatMap((line) => line.match(new RegExp(`.{1,${next}}`, 'g')) ?? [''])
      row += broken.length - lines.length
      lines = broken
    },
  }
}
