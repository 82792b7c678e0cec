#!/usr/bin/env node
// The command `reprise`. An older Node is told so in one sentence, before anything that it could not even parse is loaded.
try {
  await import('../node-version.ts')
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`)
  process.exit(1)
}
if (process.argv[2] === 'complete') {
  const { answerShell } = await import('./completion/answer.ts')
  process.stdout.write(await answerShell(process.argv.slice(process.argv[3] === '--' ? 4 : 3)))
} else {
  const { main } = await import('./program.ts')
  await main(process.argv)
}
