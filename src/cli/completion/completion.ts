// `reprise completion`: prints what a shell needs to complete the words of reprise.
import { scripts, type Shell } from './scripts.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Invocation } from '../invocation.ts'

export async function completion({ terminal, args }: Invocation): Promise<number> {
  terminal.out.raw(scripts[args[0] as Shell])
  return exitCodes.done
}
