import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'

/** How many of each, once it is certain that every noted place is that of its entry, and that only the newest are not noted. */
export function checkPlaces(path: string): { noted: number; newest: number; entries: number } {
  const db = new DatabaseSync(path)
  const count = (from: string): number => Number(db.prepare(`select count(*) as n from ${from}`).get()?.['n'])
  const noted = count('places, json_each(places.entries)')
  const newest = count('entries where id > (select upto from noted)')
  const right = `places p, json_each(p.entries) place cross join entries e
    on e.id = place.value and e.run_id = p.run_id and e.seq = p.first + place.key and e.seq <= p.last`
  assert.equal(count(right), noted)
  const entries = count('entries')
  assert.equal(noted + newest, entries)
  db.close()
  return { noted, newest, entries }
}
