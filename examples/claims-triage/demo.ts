// The demo: a crew is killed with SIGKILL in the middle of its second task, continues in another process, and is
// replayed in a third. It needs no key: a model server on loopback speaks the wire protocol of OpenAI. It compares the
// run with an undisturbed one, and fails if any promise is broken.
//
//   npm run demo, in a clone
//   npx reprise demo, where the package is installed
import { mkdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { styleText } from 'node:util'
import { openStore, type Store } from 'reprise/stores'
import type { Entry } from 'reprise/journal'
import { openModelServer, type ModelServer } from './model-server.ts'
import { completed, follow, forkOf, runId, start } from './process.ts'
import { heading, say, progressPrinter } from './progress.ts'
import { account, repliesIn, table } from './report.ts'

const fixtures = join(import.meta.dirname, 'fixtures.json')

if (import.meta.main) {
  const place = process.argv[2] ?? join(import.meta.dirname, '../../.reprise/demo')
  process.exitCode = await demo(place, { reprise: 'npm run reprise --', isClone: true })
}

interface Surroundings {
  /** How the command line is called here. */
  readonly reprise: string
  readonly isClone: boolean
}

/** Runs the demo in a new folder below `place`. Resolves with the exit code. */
export async function demo(place: string, surroundings: Surroundings): Promise<number> {
  try {
    await play(freshFolder(place), surroundings)
    return 0
  } catch (error) {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  }
}

async function play(folder: string, surroundings: Surroundings): Promise<void> {
  const shown = relative('.', folder).startsWith('..') ? folder : relative('.', folder)
  console.log('Reprise: three tasks of insurance claims triage, killed and brought back.')
  console.log('The model is a server on this machine that answers from a file: no key, no cost.')
  await using server = await openModelServer(fixtures, { pace: true })
  await using other = await openModelServer(fixtures)
  const undisturbed = runUndisturbed(other, folder)
  undisturbed.catch(() => {}) // awaited below
  await using store = closing(await openStore(`file:${folder}/runs`))
  const journal: Entry[] = []
  const printStep = progressPrinter()

  heading('1. Kick off')
  const first = start(server, folder)
  say(`process ${first.child.pid} runs crew.ts; every step is written down before it counts`)
  for await (const entry of follow(store, runId, first.child)) {
    journal.push(entry)
    printStep(entry)
    if (entry.type === 'tool.called' && entry.tool === 'lookup_policy') break
  }

  heading('2. kill -9, in the middle of the second task', 'red')
  first.child.kill('SIGKILL')
  const killed = await first.ended
  if (killed.signal !== 'SIGKILL') throw new Error(`the first process ended before it was killed: ${killed.stderr}`)
  say(`process ${first.child.pid} is dead: the claim was filed, the look-up was under way`)
  say(`on disk: ${journal.length} entries in ${shown}/runs/${runId}.jsonl`)

  heading('3. Resume: the same command again, in a new process')
  const second = start(server, folder)
  say(`process ${second.child.pid} takes the run over at once`)
  for await (const entry of follow(store, runId, second.child, journal.at(-1)?.seq)) {
    journal.push(entry)
    printStep(entry)
  }
  const resumed = await completed(second)
  const asked = server.calls()
  say(`result: ${wrap(resumed)}`)

  heading('4. Replay: the last task again, for another reader')
  const third = start(server, folder, ['replay', 'the customer'])
  say(`process ${third.child.pid} writes the note for the customer instead of the claims team`)
  const replay: Entry[] = []
  const printReplayStep = progressPrinter()
  for await (const entry of follow(store, await forkOf(store, runId, third.child), third.child)) {
    replay.push(entry)
    printReplayStep(entry)
  }
  const replayed = await completed(third)
  const askedAgain = server.calls() - asked
  say(`result: ${wrap(replayed)}`)

  heading('What it took')
  console.log(table([...account(journal, ['kick off', 'resume']), ...account(replay, ['replay'])]))

  heading('Did it keep its promises?')
  const { result, calls } = await undisturbed
  const filed = await linesIn(join(folder, 'ledger.txt'))
  // A model call that the kill interrupts is repeated; here the kill should hit a look-up instead.
  const interrupted = asked - repliesIn(journal).length
  const interruptedWords = interrupted === 0 ? '' : `, ${interrupted} of them interrupted by the kill`
  const promises: [string, boolean][] = [
    ['the same result as an undisturbed run', resumed === result],
    [
      `model calls at the server: ${asked}${interruptedWords} (undisturbed: ${calls})`,
      asked - interrupted === calls && interrupted <= 1,
    ],
    [`model calls for the replay: ${askedAgain} (from the start: ${calls})`, askedAgain === 1],
    [`claims filed by kick-off, resume and replay together: ${filed}`, filed === 1],
    ['the replay wrote another note on the same claim', replayed !== resumed && replayed.includes('CL-0001')],
  ]
  for (const [promise, kept] of promises)
    say(`${kept ? styleText('green', 'yes') : styleText('red', 'NO ')}  ${promise}`)
  const broken = promises.filter(([, kept]) => !kept).length
  if (broken > 0) throw new Error(`${broken} of ${promises.length} promises not kept; see ${shown}`)
  whatNext(shown, surroundings)
}

function whatNext(shown: string, { reprise, isClone }: Surroundings): void {
  heading('What to try next')
  say('Look at the runs that this demo left behind:')
  say(`  export REPRISE_STORE=file:${shown}/runs`)
  say(`  ${reprise} runs`)
  say(`  ${reprise} show ${runId} --steps`)
  say(`  ${isClone ? 'npm run build && ' : ''}${reprise} studio   # in the browser`)
  say(`  cat ${shown}/runs/${runId}.jsonl ${shown}/ledger.txt`)
  if (!isClone) {
    say('Make a project of your own, which runs without a key:')
    say(`  unset REPRISE_STORE; ${reprise} create my-crew`)
    return
  }
  say('With a key of yours (and OPENAI_BASE_URL, if it is not for OpenAI itself):')
  say('  unset REPRISE_STORE; export OPENAI_API_KEY=sk-…')
  say('  npx node --conditions=reprise-source examples/claims-triage/crew.ts')
  say('Stop it with Ctrl-C or kill -9, run it again: it continues. Then:')
  say(`  ${reprise} replay -t note --file examples/claims-triage/crew.ts \\`)
  say('    --input reader="the customer"')
}

/** Runs the same crew without a kill, with a server and a ledger of its own, for comparison. */
async function runUndisturbed(server: ModelServer, folder: string): Promise<{ result: string; calls: number }> {
  const result = await completed(start(server, join(folder, 'undisturbed')))
  return { result, calls: server.calls() }
}

/** Makes the next numbered folder: the results of earlier demos stay. */
function freshFolder(place: string): string {
  mkdirSync(place, { recursive: true })
  for (let number = 1; ; number++) {
    const path = resolve(place, String(number))
    try {
      mkdirSync(path)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

async function linesIn(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '').length
}

/** Wraps text, and aligns the rows below the first word. */
function wrap(text: string): string {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + word.length >= 68) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines.join(`\n${' '.repeat(11)}`)
}

function closing(store: Store): Store & AsyncDisposable {
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}
