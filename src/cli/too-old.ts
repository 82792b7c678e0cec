// The error for an older Node: the version that is needed, and the same command with a Node that has it.
import { readFileSync } from 'node:fs'
import { shellWord } from '../text/words.ts'

/** `words`: what was typed after `reprise`. */
export function tooOld(words: readonly string[]): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { engines } = JSON.parse(file) as { readonly engines: { readonly node: string } }
  const command = ['npx -y -p node@24 reprise', ...words.map(shellWord)].join(' ')
  const needed = engines.node.replace('>=', '')
  return `reprise needs Node.js ${needed} or newer, and this is ${process.versions.node}; install that, or run: ${command}`
}
