#!/usr/bin/env node
// The command `reprise`. An older Node is told so in one sentence, before anything that it could not even parse is
// loaded.
try {
  await import('../base/node-version.ts')
} catch {
  const { tooOld } = await import('./too-old.ts')
  process.stderr.write(`error: ${tooOld(process.argv.slice(2))}\n`)
  process.exit(1)
}
const [, , first, ...rest] = process.argv
if ((first === '--version' || first === '-V') && rest.length === 0) {
  // asked by scripts and prompts, again and again: nothing else is loaded for it
  const { packageVersion } = await import('../studio/package-version.ts')
  process.stdout.write(`${packageVersion()}\n`)
} else {
  const { quickStart } = await import('./quick-start.ts')
  quickStart()
  const { main } = await import('./program.ts')
  await main(process.argv)
}
