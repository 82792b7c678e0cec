// The journal format is frozen: journals of earlier versions are read as before, and continued. See
// docs/decisions/0032-frozen-format.md. The files are in golden/journals; golden/record.ts adds new ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openEngine } from '../../src/engine/world.ts'
import { importRun } from '../../src/engine/history/import-run.ts'
import { entryRows } from '../../src/journal/table/entry-table.ts'
import { goldens } from './golden/goldens.ts'
import { openLab } from './golden/lab.ts'
import { readingsOf } from './golden/readings.ts'
import { scenes } from './golden/scenes/index.ts'

const all = goldens()
/** A time long after the runs were recorded. */
const later = '2026-06-01T09:00:00Z'

describe('the golden journal', () => {
  for (const { name, exported, readings } of all)
    test(`golden journal ${name} is read as when it was recorded`, async () => {
      assert.deepEqual(await readingsOf(exported), readings)
    })

  for (const { name, scene, run, ends, exported, effects } of all) {
    if (ends === undefined) continue
    test(`golden journal ${name} continues to its recorded end, and repeats nothing recorded`, async () => {
      const end = all.find((golden) => golden.name === ends)
      assert.ok(end, `there is no golden journal ${ends}`)
      const lab = openLab(later, effects)
      const life = lab.life()
      await importRun(openEngine(lab.store, life.options['~world']), [exported])
      assert.deepEqual(await scenes[scene]?.finish(life, run), end.outputs)
      assert.deepEqual(beyond(lab.effects, end.effects), [])
      assert.deepEqual(calls(lab.effects), calls(end.effects))
    })
  }
})

describe('the golden journals', () => {
  const entries = all.flatMap((golden) => golden.entries)
  const seen = new Set(entries.flatMap((entry) => Object.keys(entry).map((field) => `${entry.type} ${field}`)))

  test('the golden journals have every type of entry', () => {
    const types = new Set<string>(entries.map(({ type }) => type))
    assert.deepEqual(
      [...entryRows.keys()].filter((type) => !types.has(type)),
      [],
    )
  })

  test('the golden journals have every field that the engine writes, and no unknown field', () => {
    const fields = [...entryRows].flatMap(([type, row]) => Object.keys(row.fields).map((field) => `${type} ${field}`))
    assert.deepEqual(fields.filter((field) => !seen.has(field)).toSorted(), Object.keys(unseen).toSorted())
    const known = new Set(fields)
    const gone = [...seen].filter((field) => !known.has(field) && !envelope.has(field.split(' ')[1] as string))
    assert.deepEqual(gone, [])
  })
})

/**
 * The effects that happened more often than in the recorded run. Fewer are fine: the recorded run may have repeated a
 * model call, because a process died before it recorded the reply.
 */
function beyond(effects: readonly string[], recorded: readonly string[]): string[] {
  const left = [...recorded]
  return effects.filter((effect) => {
    const index = left.indexOf(effect)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

/** The effects of tools and functions. Model calls also depend on when processes died. */
function calls(effects: readonly string[]): Set<string> {
  return new Set(effects.filter((effect) => !effect.startsWith('model: ')))
}

const envelope = new Set(['v', 'seq', 'at', 'jump', 'type', 'path', 'token', 'prev'])

/** Fields that no golden journal has, and why. */
const unseen: { readonly [field: string]: string } = {
  'run.cancelled reason': 'the engine records it if a message has it, and sends no such message',
  'task.invalidated reason': 'the same',
  'run.created by': 'no code passes it',
  'run.resumed by': 'the same',
  'task.skipped calls': 'only if the tasks of a nested crew were executed before all of them were skipped',
  'task.skipped spent': 'the same',
}
