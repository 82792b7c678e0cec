#!/usr/bin/env node
// The entry point of the command `reprise`. It refuses an older Node in one sentence, before it loads any file that
// such a Node cannot parse.
import * as nodeModule from 'node:module'

try {
  await import('../base/node-version.ts')
} catch {
  const { tooOld } = await import('./too-old.ts')
  process.stderr.write(`error: ${tooOld(process.argv.slice(2))}\n`)
  process.exit(1)
}
const [, , first, ...rest] = process.argv
if ((first === '--version' || first === '-V') && rest.length === 0) {
  // shell scripts and prompts call this often, so nothing else is loaded
  const { packageVersion } = await import('../studio/package-version.ts')
  process.stdout.write(`${packageVersion()}\n`)
} else {
  speedUpLoading()
  const { main } = await import('./program.ts')
  await main(process.argv)
}

/**
 * Shortens the start: a short command spends most of its time finding, reading and compiling more than a hundred files.
 * Bun and Deno may lack these two functions.
 */
function speedUpLoading(): void {
  const { enableCompileCache, registerHooks }: Partial<typeof nodeModule> = nodeModule
  // the next command reads compiled code from a cache: that of these files, and of the crew's file
  enableCompileCache?.()
  // in a checkout these files are TypeScript, which Node itself must detect
  if (!import.meta.url.endsWith('.js')) return
  const own = new URL('../', import.meta.url).href
  // the package's files import one another by exact name, so there is nothing to look up: this saves a fifth of the
  // time of `reprise runs`
  registerHooks?.({
    resolve(specifier, context, next) {
      const { parentURL } = context
      if (!specifier.startsWith('.') || !parentURL?.startsWith(own)) return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
    },
  })
}
