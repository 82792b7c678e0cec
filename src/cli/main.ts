#!/usr/bin/env node
// The command `reprise`. An older Node is refused in one sentence, before anything is loaded that it cannot parse.
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
  // scripts and prompts ask for it again and again: nothing else is loaded for it
  const { packageVersion } = await import('../studio/package-version.ts')
  process.stdout.write(`${packageVersion()}\n`)
} else {
  startQuickly()
  const { main } = await import('./program.ts')
  await main(process.argv)
}

/**
 * Most of the time of a short command goes into finding, reading and compiling some sixty files. Bun and Deno lack the
 * hooks that make it shorter.
 */
function startQuickly(): void {
  const { enableCompileCache, registerHooks }: Partial<typeof nodeModule> = nodeModule
  // the next call reads back what was compiled, the crew's own file included
  enableCompileCache?.()
  // sources are left to Node, which has to see that they are TypeScript
  if (!import.meta.url.endsWith('.js')) return
  const own = new URL('../', import.meta.url).href
  // the package's files import one another by their exact names: there is nothing to look up, which is a fifth of the
  // time of `reprise runs`
  registerHooks?.({
    resolve(specifier, context, next) {
      const { parentURL } = context
      if (!specifier.startsWith('.') || !parentURL?.startsWith(own)) return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
    },
  })
}
