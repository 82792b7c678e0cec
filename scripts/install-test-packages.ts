// Installs the packages of test/packages where they are missing (test-packages.ts). With --if-possible, as in `npm
// test`, a failure ends nothing, except in CI.
import { installTestPackages } from './test-packages.ts'

try {
  installTestPackages()
} catch (error) {
  const { stderr, message } = error as Error & { readonly stderr?: Buffer }
  console.error(`the packages of test/packages could not be installed: ${String(stderr ?? message).trim()}`)
  const mayFail = process.argv.includes('--if-possible') && process.env['CI'] === undefined
  if (!mayFail) process.exitCode = 1
}
