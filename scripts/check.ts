// `npm run check`: checks types, lint, format, layers and habits, and stops at the first failure. With --if-possible,
// as in `npm test`, steps that need the packages of test/packages are skipped if these are missing.
import { spawnSync } from 'node:child_process'
import { missingTestPackages } from './test-packages.ts'

interface Step {
  readonly command: string
  /** Set if the step needs packages of test/packages: what stays unchecked without them. */
  readonly imports?: string
}

const steps: readonly Step[] = [
  { command: 'tsc', imports: 'types of tests and examples' },
  { command: 'tsc -p tsconfig.build.json --noEmit' },
  { command: 'tsc -p examples/chat/page', imports: "types of the chat's page" },
  { command: 'tsc -p examples/conversation/page', imports: "types of the conversation's page" },
  { command: 'tsc -p src/studio/web' },
  { command: 'oxlint --type-aware --deny-warnings', imports: 'lint, which reads types' },
  { command: 'oxfmt --check' },
  { command: 'node --conditions=reprise-source --test test/layers.test.ts test/habits.test.ts' },
]

const areMissing = missingTestPackages().length > 0
if (areMissing && !process.argv.includes('--if-possible')) {
  console.error('the types of tests need packages that are not installed: run npm run install-test-packages')
  process.exit(1)
}
for (const { command, imports } of steps) {
  if (areMissing && imports !== undefined) {
    console.log(`not checked without the packages of test/packages: ${imports}`)
    continue
  }
  const { status } = spawnSync(command, { shell: true, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
