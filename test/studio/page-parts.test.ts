// The pieces of the page that need no browser: markdown as data, time as places, tasks as a graph, schemas as forms.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { emptyTimeline } from '../../src/runs/timeline.ts'
import type { AttemptSpan, Life, StepSpan, Timeline } from '../../src/runs/timeline.ts'
import { schemaFields, schemaShape } from '../../src/schema/schema-shape.ts'
import { layoutGraph } from '../../src/studio/web/parts/graph-layout.ts'
import { parseBlocks, parseSpans, plainText } from '../../src/studio/web/parts/markdown-blocks.ts'
import { treeRows, type ChildRun } from '../../src/studio/web/run/timeline-rows.ts'
import { lastRecorded, findTakeovers } from '../../src/studio/web/run/takeovers.ts'
import { timelineRows, triesWords, type TimelineRowsRequest } from '../../src/studio/web/run/timeline-rows.ts'
import { parseLocation } from '../../src/studio/web/routing/location.ts'
import { timeScale } from '../../src/studio/web/run/time-scale.ts'
import { processorSeconds } from '../support/processor-time.ts'

describe('markdown on the page', () => {
  test('is read into blocks', () => {
    const text =
      '# Title\n\nSome **bold** words\n\n- one\n- two\n  - inner\n\n```js\n<b>\n```\n\n| a | b |\n| - | - |\n| -- | -- |'
    assert.deepEqual(
      parseBlocks(text).map(({ type: is }) => is),
      ['heading', 'paragraph', 'list', 'code', 'paragraph'],
    )
    const [table] = parseBlocks('| a | b |\n| --- | --- |\n| 1 | 2 |')
    assert.deepEqual(table, { type: 'table', head: ['a', 'b'], rows: [['1', '2']] })
  })

  test('is plain text in a title', () => {
    const text = '## Spring\n\nThe *new* **plant** opens, see `plan_b` and [it](https://a.example): 2 * 3'
    assert.equal(plainText(text), 'Spring\n\nThe new plant opens, see plan_b and it: 2 * 3')
  })

  test('becomes a link only for a page on the web: whatever else could run or load stays text', () => {
    for (const text of [
      '[x](javascript:alert(1))',
      '[x](data:text/html,hi)',
      '![x](https://a.example/p.png)',
      '<img src=x>',
    ])
      assert.ok(
        parseSpans(text).every(({ type: is }) => is === 'text' || is === 'emphasis'),
        text,
      )
    assert.deepEqual(parseSpans('see [it](https://a.example/b)').at(-1), {
      type: 'link',
      text: 'it',
      url: 'https://a.example/b',
    })
  })

  test('accepts any text, loses none of its words, and is parsed quickly', () => {
    const pieces = fc.constantFrom(
      '# ',
      '- ',
      '1. ',
      '> ',
      '```',
      '\n',
      '\n\n',
      '*',
      '**',
      '_',
      '`',
      '[',
      '](',
      ')',
      '|',
      '---',
      'word',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const text = parts.join('')
        const kept = JSON.stringify(parseBlocks(text)).match(/word/g)?.length ?? 0
        // the language after a fence is not shown
        if (!text.includes('```')) assert.equal(kept, text.match(/word/g)?.length ?? 0)
      }),
    )
    const begun = processorSeconds()
    parseBlocks('*'.repeat(20_000)).forEach((block) => block.type === 'paragraph' && parseSpans(block.text))
    parseSpans(`${'['.repeat(10_000)}${'_a'.repeat(5_000)}`)
    assert.ok(processorSeconds() - begun < 2)
  })
})

describe('time on a timeline', () => {
  test('gives a long wait little room, and the work around it the rest', () => {
    const day = 86_400_000
    const scale = timeScale(
      [
        { from: 0, to: 1_000 },
        { from: day, to: day + 1_000 },
      ],
      0,
      day + 1_000,
    )
    assert.equal(scale.gaps.length, 1)
    assert.ok(scale.at(1_000) > 0.4 && scale.at(day) < 0.6)
  })

  test('never runs backwards, and stays within its bounds', () => {
    const times = fc.array(fc.tuple(fc.nat(100_000), fc.nat(5_000)), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(times, fc.nat(100_000), fc.nat(100_000), (spans, a, b) => {
        const scale = timeScale(
          spans.map(([from, length]) => ({ from, to: from + length })),
          0,
          100_000,
        )
        assert.ok(scale.at(Math.min(a, b)) <= scale.at(Math.max(a, b)) + 1e-9)
        assert.ok(scale.at(a) >= 0 && scale.at(a) <= 1)
      }),
    )
  })
})

describe('a graph of tasks', () => {
  test('draws no line implied by another path, and leads a line past a column beside its boxes', () => {
    const { nodes, edges, implied } = layoutGraph([
      { name: 'a', context: [] },
      { name: 'b', context: [] },
      { name: 'c', context: ['a'] },
      { name: 'd', context: ['a', 'b', 'c'] },
    ])
    assert.deepEqual(
      edges.map(({ from, to }) => `${from}${to}`),
      ['ac', 'bd', 'cd'],
    )
    // a direct dependency is still known
    assert.deepEqual(implied, [{ from: 'a', to: 'd' }])
    const passing = edges.find(({ from }) => from === 'b')?.spots[1]
    assert.equal(passing?.column, nodes.get('c')?.column)
    assert.notEqual(passing?.row, nodes.get('c')?.row)
  })
})

describe('a form from a schema', () => {
  test('has a field for each property, and JSON for properties without their own field', () => {
    const schema = {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        many: { type: 'integer' },
        kind: { enum: ['a', 'b'] },
        list: { type: 'array', items: { type: 'string' } },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
    }
    assert.deepEqual(
      schemaFields(schema).map(({ name, required, shape }) => [name, required, shape.type]),
      [
        ['name', true, 'text'],
        ['many', false, 'number'],
        ['kind', false, 'choice'],
        ['list', false, 'json'],
        ['either', false, 'json'],
      ],
    )
    assert.deepEqual(schemaShape(undefined, 'a\nb'), { type: 'text', long: true })
  })
})

describe('nested runs in the timeline of the outer run', () => {
  /** A run of ten tasks that are crews, each in this state. */
  const familyOf = (status: AttemptSpan['status'], folds = new Map<string, boolean>(), chosen = 'r') => {
    const timeline = emptyTimeline('r')
    const tasks = Array.from({ length: 10 }, (_, index) => `t${index}`)
    const attempts = tasks.map((task) => ({
      path: `${task}#1`,
      task,
      child: `r/${task}#1`,
      status,
      from: at,
      steps: [],
    }))
    const detail = { runId: 'r', status: 'running', tasks: tasks.map((name) => ({ name, status: 'pending' })) }
    const root = { detail, timeline: { ...timeline, attempts }, streaming: [] }
    return (children: ReadonlyMap<string, ChildRun>) =>
      treeRows({ root, children, folds, chosen } as unknown as Parameters<typeof treeRows>[0])
  }
  const at = '2026-10-01T09:00:00.000Z'
  const none = new Map<string, ChildRun>()

  test('are open initially if they are active or failed, but never more than a few', () => {
    for (const status of ['open', 'failed'] as const) {
      const { wanted } = familyOf(status)(none)
      assert.deepEqual(wanted, ['r/t0#1', 'r/t1#1', 'r/t2#1', 'r/t3#1', 'r/t4#1'])
      // runs followed by then count
      const known = new Map(wanted.map((id) => [id, { detail: undefined, timeline: undefined, error: undefined }]))
      assert.deepEqual(familyOf(status)(known).wanted, [])
    }
    assert.deepEqual(familyOf('completed')(none).wanted, [])
  })

  test('are open if something in them is selected or a person opened them, and closed if a person closed them', () => {
    assert.deepEqual(familyOf('completed', new Map(), 'r/t7#1/deeper#2')(none).wanted, ['r/t7#1'])
    const byHand = new Map([
      ['r/t0#1', false],
      ['r/t9#1', true],
    ])
    assert.deepEqual(familyOf('completed', byHand)(none).wanted, ['r/t9#1'])
    assert.ok(!familyOf('open', byHand)(none).wanted.includes('r/t0#1'))
  })
})

test('marks where a process took over, and what had become of the one before, but no slices', () => {
  const ends = ['gone', 'suspended', 'yielded', 'failed', undefined] as const
  const lives = ends.map((end, index): Life => ({
    from: `2026-01-01T00:00:0${index}.000Z`,
    to: undefined,
    end,
    holder: { name: index === 2 ? 'worker-a' : undefined, pid: 10 + index, host: 'here' },
    via: undefined,
  }))
  assert.deepEqual(
    findTakeovers(lives).map(({ gone, words }) => [gone, words]),
    [
      [true, 'process 11 continued: process 10 was gone'],
      [false, 'process 12 (worker-a) continued: the run was suspended'],
      [false, 'process 14 continued: the run had failed'],
    ],
  )
  const at = '2026-01-01T00:00:09.000Z'
  assert.deepEqual(findTakeovers(lives, at).at(-1), {
    at: Date.parse(at),
    gone: true,
    words: 'process 14 recorded nothing after this',
  })
})

test('an abandoned run was last at the newest step that it or a run of its crews recorded', () => {
  const time = (second: number): string => `2026-01-01T00:00:0${second}.000Z`
  const timelineOf = (
    runId: string,
    path: string,
    seconds: readonly number[],
    status: StepSpan['status'],
  ): Timeline => {
    const steps = seconds.map((second, index) => ({
      path: `${path}/${index + 1}`,
      status: index === seconds.length - 1 ? status : 'done',
      from: time(second),
      to: status === 'open' && index === seconds.length - 1 ? undefined : time(second),
    }))
    const attempts = [{ path, from: time(0), to: undefined, steps }] as unknown as Timeline['attempts']
    return { ...emptyTimeline(runId), attempts, updatedAt: time(seconds.at(-1) ?? 0) }
  }
  const outer = timelineOf('r', 'plan#1', [1, 2], 'done')
  const inner = timelineOf('r/research#1', 'find#1', [3, 4], 'open')
  assert.deepEqual(lastRecorded([outer]), { run: 'r', at: time(2), path: 'plan#1/2', open: [] })
  const { open, ...last } = lastRecorded([outer, inner]) ?? {}
  assert.deepEqual(last, { run: 'r/research#1', at: time(4), path: 'find#1/2' })
  assert.deepEqual(
    open?.map(({ path }) => path),
    ['find#1/2'],
  )
  assert.equal(lastRecorded([timelineOf('r', 'plan#1', [], 'done')])?.path, 'plan#1')
})

test('a question about a call stands before the call that it allowed, and a doubt after it', () => {
  const at = '2026-01-01T00:00:00.000Z'
  const steps = [
    { path: 'pay#1/1', seq: 3, kind: 'model', from: at, to: at, status: 'done' },
    { path: 'pay#1/1.0', seq: 5, kind: 'tool', from: at, to: at, status: 'done' },
  ]
  const questions = (['call', 'doubt'] as const).map((kind) => ({
    id: kind,
    kind,
    path: 'pay#1/1.0',
    from: at,
    to: at,
  }))
  const attempts = [{ path: 'pay#1', task: 'pay', from: at, to: at, status: 'completed', steps }]
  const rows = timelineRows({
    tasks: [{ name: 'pay', status: 'executed' }],
    timeline: { ...emptyTimeline('r'), attempts, questions },
    level: 0,
    isRunning: false,
    streaming: [],
    isOpen: () => true,
    within: () => undefined,
  } as unknown as TimelineRowsRequest)
  assert.deepEqual(
    rows.map((row) => (row.type === 'question' ? row.question.id : row.at)),
    ['pay', 'pay#1/1', 'call', 'pay#1/1.0', 'doubt'],
  )
})

test('failed tries are counted as they were made: those before a reply, or all of a failed call', () => {
  const words = (status: StepSpan['status'], tries: number): string => triesWords({ status, tries })
  assert.deepEqual(
    [words('done', 0), words('done', 1), words('done', 2), words('failed', 1), words('failed', 3)],
    ['', '1 failed try', '2 failed tries', '', '3 tries'],
  )
})

test('an address that begins with several slashes is a place within the page', () => {
  assert.deepEqual(parseLocation('//').parts, [])
  assert.deepEqual(parseLocation('//evil.example/runs').parts, ['evil.example', 'runs'])
  assert.deepEqual(parseLocation('//runs/a%2Fb?at=x').parts, ['runs', 'a/b'])
})
