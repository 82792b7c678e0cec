// The pieces of the page that need no browser: markdown as data, time as places, tasks as a graph, schemas as forms.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { emptyTimeline } from '../../src/studio/timeline/add-entry.ts'
import type { AttemptSpan, Life } from '../../src/studio/timeline/timeline.ts'
import { fieldsOf, shapeOf } from '../../src/studio/web/form/schema-shape.ts'
import { layoutGraph } from '../../src/studio/web/parts/graph-layout.ts'
import { blocksOf, spansOf } from '../../src/studio/web/parts/markdown-blocks.ts'
import { familyRows, type KnownRun } from '../../src/studio/web/run/family-rows.ts'
import { takeoversOf } from '../../src/studio/web/run/takeovers.ts'
import { timeScale } from '../../src/studio/web/run/time-scale.ts'
import { processorSeconds } from '../support/processor-time.ts'

describe('markdown', () => {
  test('is read into blocks', () => {
    const text =
      '# Title\n\nSome **bold** words\n\n- one\n- two\n  - inner\n\n```js\n<b>\n```\n\n| a | b |\n| - | - |\n| -- | -- |'
    assert.deepEqual(
      blocksOf(text).map(({ is }) => is),
      ['heading', 'paragraph', 'list', 'code', 'paragraph'],
    )
    const [table] = blocksOf('| a | b |\n| --- | --- |\n| 1 | 2 |')
    assert.deepEqual(table, { is: 'table', head: ['a', 'b'], rows: [['1', '2']] })
  })

  test('makes a link only of a page on the web: whatever else could run or load stays text', () => {
    for (const text of [
      '[x](javascript:alert(1))',
      '[x](data:text/html,hi)',
      '![x](https://a.example/p.png)',
      '<img src=x>',
    ])
      assert.ok(
        spansOf(text).every(({ is }) => is === 'text' || is === 'emphasis'),
        text,
      )
    assert.deepEqual(spansOf('see [it](https://a.example/b)').at(-1), {
      is: 'link',
      text: 'it',
      url: 'https://a.example/b',
    })
  })

  test('takes any text, loses none of its words, and ends soon', () => {
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
        const kept = JSON.stringify(blocksOf(text)).match(/word/g)?.length ?? 0
        // the language after a fence is not shown
        if (!text.includes('```')) assert.equal(kept, text.match(/word/g)?.length ?? 0)
      }),
    )
    const begun = processorSeconds()
    blocksOf('*'.repeat(20_000)).forEach((block) => block.is === 'paragraph' && spansOf(block.text))
    spansOf(`${'['.repeat(10_000)}${'_a'.repeat(5_000)}`)
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
  test('draws no line that another path says, and leads one past a column beside its boxes', () => {
    const { nodes, edges } = layoutGraph([
      { name: 'a', context: [] },
      { name: 'b', context: [] },
      { name: 'c', context: ['a'] },
      { name: 'd', context: ['a', 'b', 'c'] },
    ])
    assert.deepEqual(
      edges.map(({ from, to }) => `${from}${to}`),
      ['ac', 'bd', 'cd'],
    )
    const passing = edges.find(({ from }) => from === 'b')?.spots[1]
    assert.equal(passing?.column, nodes.get('c')?.column)
    assert.notEqual(passing?.row, nodes.get('c')?.row)
  })
})

describe('a form from a schema', () => {
  test('has a field for each property, and JSON for what has none of its own', () => {
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
      fieldsOf(schema).map(({ name, required, shape }) => [name, required, shape.is]),
      [
        ['name', true, 'text'],
        ['many', false, 'number'],
        ['kind', false, 'choice'],
        ['list', false, 'json'],
        ['either', false, 'json'],
      ],
    )
    assert.deepEqual(shapeOf(undefined, 'a\nb'), { is: 'text', long: true })
  })
})

describe('runs of crews, in the timeline of the run that they work for,', () => {
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
    const root = { detail, timeline: { ...timeline, attempts }, saying: [] }
    return (children: ReadonlyMap<string, KnownRun>) =>
      familyRows({ root, children, folds, chosen } as unknown as Parameters<typeof familyRows>[0])
  }
  const at = '2026-10-01T09:00:00.000Z'
  const none = new Map<string, KnownRun>()

  test('are open by themselves when they are under way or failed, but never more than a few', () => {
    for (const status of ['open', 'failed'] as const) {
      const { wanted } = familyOf(status)(none)
      assert.deepEqual(wanted, ['r/t0#1', 'r/t1#1', 'r/t2#1', 'r/t3#1', 'r/t4#1'])
      // those that are followed by then count
      const known = new Map(wanted.map((id) => [id, { detail: undefined, timeline: undefined, error: undefined }]))
      assert.deepEqual(familyOf(status)(known).wanted, [])
    }
    assert.deepEqual(familyOf('completed')(none).wanted, [])
  })

  test('are open when something in them is chosen, or somebody opened them, and closed when somebody closed them', () => {
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
    takeoversOf(lives).map(({ gone, words }) => [gone, words]),
    [
      [true, 'process 11 continued: process 10 was gone'],
      [false, 'process 12 (worker-a) continued: the run was suspended'],
      [false, 'process 14 continued: the run had failed'],
    ],
  )
})
