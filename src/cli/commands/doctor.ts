// `reprise doctor`: checks everything that a crew needs to run here, and prints what to do about each problem. No model
// is called, and nothing is written.
import { fileArgument, withCrew } from '../options.ts'
import { checkCrews } from '../doctor/check-crew.ts'
import { checkStores } from '../doctor/check-store.ts'
import { checkSurroundings } from '../doctor/check-surroundings.ts'
import type { Check } from '../doctor/check.ts'
import { exitCodes } from '../exit-codes.ts'
import { locateStore } from '../find/open-runs.ts'
import type { Command, Invocation } from '../command.ts'
import { plural } from '../output/words.ts'
import type { Channel, Format } from '../output/terminal.ts'
import { wrap } from '../../text/wrap.ts'

export interface DoctorOptions {
  readonly file?: string
  readonly crew?: string
}

export const doctorCommand: Command<DoctorOptions> = {
  declare: (command) => withCrew(command).argument('[file]', fileArgument),
  examples: ['reprise doctor'],
  action: doctor,
}

async function doctor({ terminal, args, options, commands }: Invocation<DoctorOptions>): Promise<number> {
  const [file = options.file] = args
  const { crews, checks } = await checkCrews(file, options.crew, commands)
  commands.setStore(locateStore(crews[0]?.store, commands.file))
  const all = [...checkSurroundings(), ...checks, ...(await checkStores(options.store, crews, commands))]
  for (const check of all) {
    if (terminal.json) terminal.record(check)
    else printDoctorCheck(terminal.out, check)
  }
  const failed = all.filter(({ state }) => state === 'fail').length
  const warned = all.filter(({ state }) => state === 'warn').length
  const words = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warned > 0 ? [`${plural(warned, 'thing')} to know about`] : []),
  ]
  terminal.err.line(words.join(', ') || 'all is well')
  return failed > 0 ? exitCodes.failed : exitCodes.done
}

const formats: { readonly [state in Check['state']]: Format } = { ok: 'green', warn: 'yellow', fail: 'red' }
const column = 18

function printDoctorCheck(channel: Channel, { check, state, says, next }: Check): void {
  const head = `${state.padEnd(5)} ${check.padEnd(11)} `
  const [top = '', ...below] = says.split('\n')
  const [first = '', ...rest] = wrap(head + top, channel.width, column)
  const rows = [...rest, ...below.flatMap((row) => wrap(' '.repeat(column) + row, channel.width, column + 2))]
  channel.line({ text: first.slice(0, 5), format: formats[state] }, first.slice(5))
  for (const row of rows) channel.line(row)
  if (next !== undefined)
    for (const row of wrap(`${' '.repeat(column)}${next}`, channel.width, column))
      channel.line({ text: row, format: 'dim' })
}
