// `reprise send`: sends an event to a run of a flow, whichever process executes it. It loads no code.
import { runArgument, signerOption, withStore, readSigner } from '../options.ts'
import { defined } from '../../base/options.ts'
import { isUnfinished } from '../../runs/find.ts'
import { parseObject } from '../../journal/json.ts'
import { lastRun, readSummary } from '../../read/row-summary.ts'
import { isMessage } from '../../runs/turns.ts'
import { readRun } from '../../read/read-run.ts'
import { flowFacts } from '../../runs/flow-view.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import { noteRun, findRun, whatNext } from '../find/find-run.ts'
import { parseValue } from '../input/inputs.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'
import { someNames } from '../../text/words.ts'

interface SendOptions {
  readonly id?: string
  readonly by?: string
}

export const sendCommand: Command<SendOptions> = {
  declare: (command) =>
    withStore(command)
      .argument('[run]', runArgument)
      .argument('[event]', 'name of the event')
      .argument('[value]', 'JSON or text (default: null); for a conversation, the text of the message')
      .option('--id <id>', 'of several events with this id, the run receives the first')
      .option('--by <name>', signerOption),
  examples: [
    `reprise send latest approved '{"amount":500}' --id order-7`,
    `reprise send ada message 'My lamp is broken'`,
  ],
  action: send,
}

async function send(invocation: Invocation<SendOptions>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  const [run, event, typed] = args
  await using runs = await openRuns(invocation)
  const fits = (row: Parameters<typeof isUnfinished>[0]): boolean => readSummary(row).flow === true && isUnfinished(row)
  const row = await findRun(runs.store, run, undefined, { fits })
  const runId = await noteRun(commands, runs.store, row)
  if (event === undefined) {
    const { waits = [] } = flowFacts((await readRun(runs.store, runId)).state)
    const awaited = [...new Set(waits.flatMap((wait) => wait.event ?? []))]
    const [first] = awaited
    if (first === undefined) throw new UsageError(`no event is named, and run ${runId} waits for none now`)
    throw new UsageError(`no event is named; run ${runId} waits for ${someNames(awaited)}`, {
      next: { type: 'command', to: 'send one', words: ['send'], values: [runId, first] },
    })
  }
  const more = { ...defined({ id: options.id }), ...readSigner(options.by) }
  const { chat = false } = readSummary(row)
  const value = readValue(typed, chat && event === 'message')
  await runs.run(runId).send(event, value, more)
  if (terminal.json) terminal.record({ runId, event, value, ...more })
  terminal.err.line(`sent event ${event} to run ${runId}`)
  terminal.err.line(await whatNext(commands, runs.store, await lastRun(runs.store, runId)))
  return exitCodes.done
}

/** A message of a conversation is a text, even if it looks like JSON, unless it has an id. */
function readValue(typed: string | undefined, isSaid: boolean): ReturnType<typeof parseValue> {
  if (typed === undefined) return null
  if (!isSaid) return parseValue(typed, 'the value')
  const message = parseObject(typed)
  return isMessage(message) ? { id: message.id, text: message.text } : typed
}
