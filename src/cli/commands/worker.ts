// `reprise worker`: executes ready runs of the crews of some modules, until it is stopped.
import type { Dispatcher } from '../../crew/queue/dispatcher.ts'
import { environment } from '../../base/environment.ts'
import { RepriseError } from '../../base/errors.ts'
import { Option } from 'commander'
import { changedOption, wholeNumber, wholeNumberOrZero, readDuration } from '../options.ts'
import { setAdvice } from '../../crew/open-crew.ts'
import { defined } from '../../base/options.ts'
import type { ResumeOptions } from '../../crew/verbs/resume.ts'
import { startWorker } from '../../workers/worker.ts'
import { exitCodes } from '../exit-codes.ts'
import { loadServed } from '../find/load-crew.ts'
import type { Command, Invocation } from '../command.ts'
import { printWorkerEvent } from '../output/print-worker-event.ts'
import { stopOnInterrupt } from '../execute.ts'

interface WorkerOptions {
  readonly name?: string
  readonly concurrency?: number
  readonly once?: boolean
  readonly changed?: ResumeOptions['changed']
  readonly slice?: string
  readonly grace?: string
  readonly dispatcher?: 'restate' | 'http'
  readonly listen?: string
  readonly url?: string
  readonly port?: number
  readonly host?: string
}

export const workerCommand: Command<WorkerOptions> = {
  declare: (command) =>
    command
      .argument('[file...]', 'the modules that export the crews to serve (default: the file that run loads)')
      .option('--name <name>', 'name of this worker in lists of runs; in a container, use "$HOSTNAME"')
      .option('--concurrency <number>', 'how many runs at once (default: 10)', wholeNumber)
      .option('--once', 'execute what is ready, then exit')
      .addOption(changedOption())
      .option(
        '--slice <time>',
        'hand a run back after this time (such as 10s), between two steps, to give others a turn',
      )
      .option('--grace <time>', 'how long a stop waits for the steps in progress (default: 30s)')
      .addOption(
        new Option(
          '--dispatcher <name>',
          'what assigns runs: restate (RESTATE_INGRESS_URL, RESTATE_ADMIN_URL), or http, which calls --url (default: the worker polls the store)',
        ).choices(['restate', 'http']),
      )
      .option('--listen <[host:]port>', 'address at which Restate calls the worker (default: 127.0.0.1:9080)')
      .option(
        '--url <url>',
        "with restate, the worker's URL as Restate sees it; with http, the URL of the function that advances runs",
      )
      .option('--port <number>', 'serve /health and /metrics on this port; 0 takes a free one', wholeNumberOrZero)
      .option('--host <address>', 'address for --port (default: 127.0.0.1, only this machine)'),
  examples: [
    'reprise worker claims.ts letters.ts --concurrency 20 --port 9464',
    'reprise worker claims.ts --dispatcher restate',
  ],
  action: worker,
}

async function worker({ args, options, terminal, commands }: Invocation<WorkerOptions>): Promise<number> {
  const { name, concurrency, once, changed, port, host, store } = options
  const sliceSeconds = options.slice === undefined ? undefined : readDuration('--slice', options.slice)
  const graceSeconds = options.grace === undefined ? undefined : readDuration('--grace', options.grace)
  const dispatcher = await openDispatcher(options)
  const crews = await loadServed(args, store)
  // the crews of the runs in progress, by run id
  const crewOf = new Map<string, string>()
  setAdvice((next) => {
    const crewName = 'runId' in next ? crewOf.get(next.runId) : undefined
    return commands.forCrew(crews.find((crew) => crew.name === crewName)?.module).advice(next)
  })
  try {
    const working = await startWorker(crews, {
      ...defined({ name, concurrency, once, changed, sliceSeconds, graceSeconds, dispatcher, port, host }),
      onEvent(event) {
        if (event.type === 'claimed') crewOf.set(event.runId, event.crew)
        if (event.type === 'left' || event.type === 'refused') crewOf.delete(event.runId)
        printWorkerEvent(terminal, event)
      },
    })
    // the first signal stops the worker, a second one ends the process
    using interrupt = stopOnInterrupt(terminal.err)
    interrupt.signal.addEventListener('abort', () => void working.stop().catch(() => undefined), { once: true })
    await working.done
    return exitCodes.done
  } finally {
    for (const crew of crews) await crew.close()
  }
}

interface DispatcherOptions {
  readonly dispatcher?: 'restate' | 'http'
  readonly listen?: string
  readonly url?: string
  readonly once?: boolean
}

/** Returns undefined if the worker polls the store. Rejects with OPTION_INVALID if options don't go together. */
async function openDispatcher(options: DispatcherOptions): Promise<Dispatcher | undefined> {
  const { dispatcher, listen, url, once } = options
  if (listen !== undefined && dispatcher !== 'restate')
    throw invalid(`--listen ${listen} is for --dispatcher restate; add that, or leave it out`)
  if (url !== undefined && dispatcher === undefined)
    throw invalid(`--url ${url} is for --dispatcher restate or http; add one of them, or leave it out`)
  if (dispatcher === 'restate' && once)
    throw invalid(
      '--once is for workers that poll a store; Restate calls this one until it is stopped: leave --once out',
    )
  if (dispatcher === 'restate') {
    const { restateDispatcher } = await import('../../workers/restate/restate-dispatcher.ts')
    return restateDispatcher(defined({ ...(listen === undefined ? {} : readListen(listen)), url }))
  }
  if (dispatcher !== 'http') return undefined
  const secret = environment().advanceSecret
  if (url === undefined) throw invalid('--dispatcher http calls a function; add its URL: --url https://…')
  if (secret === undefined)
    throw invalid('REPRISE_ADVANCE_SECRET is not set; set it to the secret of the function at --url')
  const { httpDispatcher } = await import('../../workers/http/http-dispatcher.ts')
  return httpDispatcher({ url, secret })
}

/** Parses `9080`, `0.0.0.0:9080` or `[::1]:9080`. Throws OPTION_INVALID. */
function readListen(given: string): { readonly host?: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:]+)):)?(\d{1,5})$/.exec(given) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535)
    throw invalid(`--listen is ${JSON.stringify(given)}; give a port, or a host and a port: 0.0.0.0:9080`)
  return { port, ...defined({ host: bracketed ?? plain }) }
}

function invalid(words: string): RepriseError {
  return new RepriseError('OPTION_INVALID', words)
}
