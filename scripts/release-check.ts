// `npm run release:check`: lists what is still to be filled in before the first release, and fails while anything is.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', file), 'utf8')
const manifest = JSON.parse(read('package.json')) as { readonly [field: string]: unknown }
const changes = read('CHANGELOG.md')
const version = String(manifest['version'])

const missing = [
  ...['repository', 'homepage', 'bugs', 'author']
    .filter((field) => manifest[field] === undefined)
    .map((field) => `package.json has no ${field}`),
  ...(/\]\(https:\/\/|mailto:/.test(read('SECURITY.md')) ? [] : ['SECURITY.md has no address for private reports']),
  ...(/^> .*https:\/\//m.test(read('llms.txt')) ? [] : ['llms.txt has no address of the docs in its first lines']),
  ...(read('README.md').includes('is not on npm yet') ? ['README.md says that Reprise is not on npm yet'] : []),
  ...(new RegExp(`^## ${RegExp.escape(version)} \\(\\d{4}-\\d{2}-\\d{2}\\)`, 'm').test(changes)
    ? []
    : [`CHANGELOG.md has no section "## ${version} (date)"`]),
]

for (const line of missing) console.error(line)
if (missing.length > 0) console.error(`\nsee "Releasing" in CONTRIBUTING.md`)
process.exitCode = missing.length > 0 ? 1 : 0
