// `reprise demo`: the demo of examples/claims-triage, which needs no key, no server and no project.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from '../command.ts'
import { commandPrefix } from '../write-command.ts'

interface Demo {
  demo(place: string, surroundings: { readonly reprise: string; readonly isClone: boolean }): Promise<number>
}

const built = join(import.meta.dirname, '../../demo/demo.js')
const source = join(import.meta.dirname, '../../../examples/claims-triage/demo.ts')

export const demoCommand: Command = {
  declare: (command) => command,
  examples: ['reprise demo'],
  async action() {
    const { demo } = (await import(pathToFileURL(existsSync(built) ? built : source).href)) as Demo
    return demo('.reprise/demo', { reprise: commandPrefix(process.argv[1] ?? 'reprise'), isClone: false })
  },
}
