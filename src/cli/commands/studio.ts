// `reprise studio`: serves the page that shows all runs, until it is stopped.
import { spawn } from 'node:child_process'
import { collect, wholeNumberOrZero, readSigner } from '../options.ts'
import type { Crew } from '../../crew/crew.ts'
import { setAdvice } from '../../crew/open-crew.ts'
import { defined } from '../../base/options.ts'
import type { Role } from '../../studio/api/contract.ts'
import type { Tokens } from '../../studio/guard.ts'
import { serveStudio } from '../../studio/serve-studio.ts'
import { plural } from '../../text/words.ts'
import { exitCodes } from '../exit-codes.ts'
import { loadServed } from '../find/load-crew.ts'
import { studioStore } from '../find/open-runs.ts'
import { usualFile } from '../find/usual-file.ts'
import type { Command, Invocation } from '../command.ts'
import { stopOnInterrupt } from '../execute.ts'

interface StudioOptions {
  /** Set by commander: false with `--no-crews`. */
  readonly crews?: boolean
  readonly port?: number
  readonly host?: string
  readonly token?: readonly string[]
  readonly allowHost?: readonly string[]
  readonly base?: string
  readonly by?: string
  readonly open?: boolean
}

export const studioCommand: Command<StudioOptions> = {
  declare: (command) =>
    command
      .argument(
        '[file...]',
        'the modules that export the crews, to start, replay and fork runs (default: the file that run loads)',
      )
      .option('--no-crews', 'load no code: look, answer, cancel, and leave the rest to workers')
      .option('--port <number>', 'port to serve it on; 0 takes a free one (default: 4400)', wholeNumberOrZero)
      .option('--host <address>', 'address to serve it on (default: 127.0.0.1, only this machine)')
      .option(
        '--token <[role=]token>',
        'access token; its role is look, answer or act (the default); repeatable (default: REPRISE_STUDIO_TOKEN)',
        collect,
      )
      .option(
        '--allow-host <name>',
        'another host name to accept, besides localhost and IP addresses (repeatable)',
        collect,
      )
      .option('--base <path>', 'path prefix at which a proxy serves it, such as /studio')
      .option('--by <name>', 'who acts, unless the page names a person (default: your login name)')
      .option('--open', 'open it in the browser'),
  examples: [
    'reprise studio claims.ts --open',
    'reprise studio --store postgres://me@db/claims --token "answer=$TOKEN"',
  ],
  action: studio,
}

async function studio(invocation: Invocation<StudioOptions>): Promise<number> {
  const { args, options, terminal, commands } = invocation
  const { port, host, base, by } = options
  const tokens = readTokens(options.token)
  const crews = await loadStudioCrews(args, options.crews ?? true)
  // the crews' own store is created if missing
  const store = crews.length > 0 ? options.store : await studioStore(invocation)
  setAdvice(commands.advice)
  await using closing = new AsyncDisposableStack()
  for (const crew of crews) closing.use(crew)
  using interrupt = stopOnInterrupt(terminal.err)
  await using served = await serveStudio({
    crews,
    ...defined({ store, port, host, base, tokens, allowHosts: options.allowHost }),
    ...readSigner(by),
  })
  const names = crews.map(({ name }) => name).join(', ')
  const what = crews.length > 0 ? `with the code of ${plural(crews.length, 'crew')}: ${names}` : 'without code of crews'
  terminal.err.line(`the studio, ${what}; Ctrl-C stops it`)
  if (terminal.json) terminal.record({ url: served.url, crews: crews.map(({ name }) => name) })
  else terminal.out.line(served.url)
  if (options.open) openInBrowser(served.url)
  await waitForStop(interrupt.signal)
  return exitCodes.done
}

/** Loads the crews of the named modules; without names, those of the usual file, if it exists. */
async function loadStudioCrews(paths: Invocation['args'], wanted: boolean): Promise<readonly Crew[]> {
  if (!wanted || (paths.length === 0 && usualFile() === undefined)) return []
  return loadServed(paths)
}

function waitForStop(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

const programs: { readonly [platform: string]: readonly [string, ...string[]] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

function openInBrowser(url: string): void {
  const [program, ...words] = programs[process.platform] ?? ['xdg-open']
  const opened = spawn(program, [...words, url], { stdio: 'ignore', detached: true })
  // without a browser, the printed address is enough
  opened.on('error', () => {})
  opened.unref()
}

/** Parses tokens by role; the studio checks them. Returns undefined without tokens. */
function readTokens(typed: readonly string[] | undefined): Tokens | undefined {
  const list = typed ?? (process.env['REPRISE_STUDIO_TOKEN'] ?? '').split(/\s+/).filter((token) => token !== '')
  if (list.length === 0) return undefined
  const tokens: { [role in Role]: string[] } = { look: [], answer: [], act: [] }
  for (const one of list) {
    const [, role = 'act', token = ''] = /^(?:(look|answer|act)=)?(.*)$/s.exec(one) ?? []
    tokens[role as Role].push(token)
  }
  return tokens
}
