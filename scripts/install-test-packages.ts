// Installs missing packages of test/packages (see test-packages.ts). With --if-possible, as in `npm test`, the exit
// code is 0 even after a failure, except in CI.
import { installTestPackages } from './test-packages.ts'

try {
  installTestPackages()
} catch (error) {
  const { stderr, message } = error as Error & { readonly stderr?: Buffer }
  console.error(`the packages of test/packages could not be installed: ${String(stderr ?? message).trim()}`)
  const mayFail = process.argv.includes('--if-possible') && process.env['CI'] === undefined
  if (!mayFail) process.exitCode = 1
}
