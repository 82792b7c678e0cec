// The error for an older Node: names the required version, and the same command with a Node that is new enough.
import { readFileSync } from 'node:fs'
import { shellWord } from '../text/words.ts'

/** Returns the message. `words`: what was typed after `reprise`. */
export function tooOld(words: readonly string[]): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { engines } = JSON.parse(file) as { readonly engines: { readonly node: string } }
  const command = ['npx -y -p node@24 reprise', ...words.map(shellWord)].join(' ')
  const needed = engines.node.replace('>=', '')
  return `reprise needs Node.js ${needed} or newer, but this is ${process.versions.node}; install a newer Node.js, or run: ${command}`
}
