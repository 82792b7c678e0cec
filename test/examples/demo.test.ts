// `npm run demo`, as a newcomer runs it.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { temporaryFolder, type TemporaryFolder } from '../stores/temporary-folder.ts'
import { run, type Ended } from './support.ts'

describe('the demo', () => {
  let folder: TemporaryFolder
  let ended: Ended
  before(async () => {
    folder = await temporaryFolder()
    ended = await run('examples/claims-triage/demo.ts', [join(folder.path, 'demo')], folder.path, {})
  })
  after(() => folder[Symbol.asyncDispose]())

  test('succeeds, and prints nothing to stderr', () => {
    assert.equal(ended.stderr, '')
    assert.equal(ended.code, 0)
  })

  test('prints its four chapters in order', () => {
    const chapters = ended.stdout.match(/^\d\. \w+/gm)
    assert.deepEqual(chapters, ['1. Kick', '2. kill', '3. Resume', '4. Replay'])
  })

  test('prints for each task of each process whether it was executed, restored or inherited, and its cost', () => {
    assert.deepEqual(rows(ended.stdout), [
      ['kick off', 'facts', 'executed', '1', '353', '0'],
      ['', 'assessment', 'executed, cut off by the kill', '2', '992', '0'],
      ['resume', 'facts', 'restored', '0', '0', '353'],
      ['', 'assessment', '2 replies restored, rest executed', '1', '604', '992'],
      ['', 'note', 'executed', '1', '449', '0'],
      ['replay', 'facts', 'inherited', '0', '0', '353'],
      ['', 'assessment', 'inherited', '0', '0', '1596'],
      ['', 'note', 'executed', '1', '444', '0'],
    ])
    assert.match(ended.stdout, /total +6 +2842 +3294/)
  })

  test('keeps every promise that it checks', () => {
    const verdicts = ended.stdout.match(/^ {3}(yes|NO) .*$/gm) ?? []
    assert.equal(verdicts.length, 5)
    for (const verdict of verdicts) assert.match(verdict, /^ {3}yes /)
    assert.match(ended.stdout, /model calls at the server: (5|6, 1 of them cut off by the kill) \(undisturbed: 5\)/)
  })

  test('files the claim once', async () => {
    const ledger = await readFile(join(folder.path, 'demo/1/ledger.txt'), 'utf8')
    assert.match(ledger, /^CL-0001 P-77 [^\n]*\n$/)
  })

  test('leaves the runs in a folder of its own, and prints the commands that show them', async () => {
    const files = await readdir(join(folder.path, 'demo/1/runs'))
    assert.equal(files.filter((file) => file.endsWith('.jsonl')).length, 2)
    assert.ok(ended.stdout.includes('export REPRISE_STORE=file:demo/1/runs\n'))
    assert.ok(ended.stdout.includes('npm run reprise -- show claim-4711'))
    assert.ok(ended.stdout.includes('npx node --conditions=reprise-source examples/claims-triage/crew.ts'))
  })

  test('fits 80 columns and has no colors without a terminal', () => {
    assert.ok(!ended.stdout.includes('\u001B'))
    for (const line of ended.stdout.split('\n')) assert.ok(line.length <= 80, line)
  })
})

/** The rows of the printed table, cell by cell. */
function rows(stdout: string): string[][] {
  const [, table = ''] = /─\n([^]*?)\n {3}─/.exec(stdout) ?? []
  return table.split('\n').map((line) => {
    const text = line.slice(3)
    const cells = [text.slice(0, 10), text.slice(10, 22), text.slice(22, 56), ...text.slice(56).trim().split(/ +/)]
    return cells.map((cell) => cell.trim())
  })
}
