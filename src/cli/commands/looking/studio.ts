// `reprise studio`: the page that shows all runs, until it is stopped.
import type { Crew } from '../../../crew/crew.ts'
import { setAdvice } from '../../../crew/result/log.ts'
import { defined } from '../../../base/defined.ts'
import { serveStudio } from '../../../studio/serve-studio.ts'
import { plural } from '../../../text/words.ts'
import { exitCodes } from '../../exit-codes.ts'
import { loadServed } from '../../find/load-served.ts'
import { storeOfStudio } from '../../find/open-runs.ts'
import { usualFile } from '../../find/usual-file.ts'
import { signedBy } from '../../input/login-name.ts'
import type { Invocation } from '../../invocation.ts'
import { stopOnInterrupt } from '../executing/execute.ts'
import { openInBrowser } from './open-in-browser.ts'
import { readTokens } from './studio-tokens.ts'

export interface StudioOptions {
  /** Commander's own: false with `--no-crews`. */
  readonly crews?: boolean
  readonly port?: number
  readonly host?: string
  readonly token?: readonly string[]
  readonly allowHost?: readonly string[]
  readonly base?: string
  readonly by?: string
  readonly open?: boolean
}

export async function studio(invocation: Invocation<StudioOptions>): Promise<number> {
  const { args, options, terminal, commands } = invocation
  const { port, host, base, by } = options
  const tokens = readTokens(options.token)
  const crews = await crewsFor(
    args.filter((path) => path !== undefined),
    options.crews ?? true,
  )
  // with code, the store is that of the crews, and is made when it is not there yet
  const store = crews.length > 0 ? options.store : await storeOfStudio(invocation)
  setAdvice(commands.advice)
  await using closing = new AsyncDisposableStack()
  for (const crew of crews) closing.use(crew)
  using interrupt = stopOnInterrupt(terminal.err)
  await using served = await serveStudio({
    crews,
    ...defined({ store, port, host, base, tokens, allowHosts: options.allowHost }),
    ...signedBy(by),
  })
  const names = crews.map(({ name }) => name).join(', ')
  const what = crews.length > 0 ? `with the code of ${plural(crews.length, 'crew')}: ${names}` : 'without code of crews'
  terminal.err.line(`the studio, ${what}; Ctrl-C stops it`)
  if (terminal.json) terminal.record({ url: served.url, crews: crews.map(({ name }) => name) })
  else terminal.out.line(served.url)
  if (options.open) openInBrowser(served.url)
  await stopped(interrupt.signal)
  return exitCodes.done
}

/** Those of the named modules; of the usual one, where none is named and it is there. */
async function crewsFor(paths: readonly string[], wanted: boolean): Promise<readonly Crew[]> {
  if (!wanted || (paths.length === 0 && usualFile() === undefined)) return []
  return loadServed(paths)
}

function stopped(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}
