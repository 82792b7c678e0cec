// How this program was started, and so what the commands that it prints begin with.
import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { environment } from '../base/environment.ts'
import { shellWord } from '../text/shell-word.ts'

/** `script`: what Node was given to run, links not followed; a name alone stands for the installed command. */
export function runnerOf(script: string): string {
  if (!script.includes(sep)) return script
  if (script.split(sep).includes('node_modules')) return 'npx reprise'
  // a link in a folder of commands
  if (realpathSync(script) !== resolve(script)) return 'reprise'
  // a checkout of this project
  if (environment().npmScript === 'reprise') return 'npm run -s reprise --'
  return ['node', ...process.execArgv, script].map(shellWord).join(' ')
}
