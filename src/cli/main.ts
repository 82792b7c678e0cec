#!/usr/bin/env node
// The command `reprise`. An older Node is told so in one sentence, before anything that it could not even parse is loaded.
try {
  await import('../node-version.ts')
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`)
  process.exit(1)
}
const { main } = await import('./program.ts')
await main(process.argv)
