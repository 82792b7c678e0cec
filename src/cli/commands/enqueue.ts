// `reprise enqueue`: records a run that a worker executes, and prints its id.
import { Option } from 'commander'
import { fileArgument, fileGiven, withCrew, withInputs, withRemoved, readDuration } from '../options.ts'
import { type EnqueueOptions as Enqueue, howToSchedule } from '../../crew/verbs/enqueue.ts'
import { openCrewStore } from '../../crew/open-crew.ts'
import { exitCodes } from '../exit-codes.ts'
import { loadCrewForId } from '../find/find-run.ts'
import { locateStore } from '../find/open-runs.ts'
import { withMissingInputs } from '../input/ask-inputs.ts'
import { readInputs, type InputOptions } from '../input/inputs.ts'
import type { Command, Invocation } from '../command.ts'
import { longTime } from '../../text/words.ts'
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Run } from '../../crew/run.ts'

interface EnqueueOptions extends InputOptions {
  readonly crew?: string
  readonly file?: string
  readonly id?: string
  readonly priority?: Enqueue['priority']
  readonly delay?: string
}

export const enqueueCommand: Command<EnqueueOptions> = {
  declare: (command) =>
    withRemoved(
      withInputs(withCrew(command.argument('[file]', fileArgument)))
        .option('--id <id>', 'your own run id; the same id with the same inputs is the same run')
        .addOption(
          new Option('--priority <priority>', 'which queued runs come first (default: normal)').choices([
            'low',
            'normal',
            'high',
          ]),
        )
        .option('--delay <time>', 'start it only after this time: 90s, 10m, 2h, 1d'),
      '--cron <expression>',
      howToSchedule,
    ),
  examples: ['reprise enqueue claims.ts --input notes=@notes.txt --delay 10m'],
  action: enqueue,
}

async function enqueue({ args, options, terminal, commands }: Invocation<EnqueueOptions>): Promise<number> {
  const { id, priority } = options
  const delay = options.delay === undefined ? undefined : readDuration('--delay', options.delay)
  const inputs = readInputs(options)
  const found = await loadCrewForId(fileGiven(args[0], options), options, options.id)
  const values = commands.file === undefined ? [] : [commands.file]
  // written before the store is set: a worker loads the crew's file, which names the store
  const work = commands.advice({ type: 'command', to: 'execute it', words: ['worker'], values })
  commands.setStore(locateStore(found.store, commands.file))
  const store = await openCrewStore(options.store ?? found.store)
  try {
    const crew = found.with({ store })
    const existed = id !== undefined && (await exists(crew.run(id)))
    const run = await withMissingInputs(terminal, inputs, (all) =>
      // only the crew's file knows the type of its inputs; the library checks them
      crew.enqueue(defined({ id, priority, delay, inputs: all }) as Enqueue),
    )
    const { status, dueAt } = await run.view()
    if (terminal.json) terminal.record({ runId: run.id, crew: crew.name, status })
    else terminal.out.line(run.id)
    const due = dueAt === undefined ? '' : ` and starts no earlier than ${longTime(dueAt)}`
    // a worker may have claimed a new run by now
    terminal.err.line(
      !existed || status === 'queued'
        ? `run ${run.id} is queued${due}; ${work}`
        : `run ${run.id} already exists (${status}); ${commands.advice({ type: 'show', runId: run.id })}`,
    )
    return exitCodes.done
  } finally {
    await store.close()
  }
}

async function exists(run: Run): Promise<boolean> {
  try {
    await run.view()
    return true
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND') return false
    throw error
  }
}
