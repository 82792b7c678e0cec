import type { Scene } from '../lab.ts'
import { atlas } from './atlas.ts'
import { claim } from './claim.ts'
import { letter } from './letter.ts'
import { order } from './order.ts'
import { queue } from './queue.ts'
import { research } from './research.ts'
import { rounds } from './rounds.ts'
import { survey } from './survey.ts'
import { talk } from './talk.ts'

export const scenes: { readonly [name: string]: Scene } = {
  atlas,
  claim,
  letter,
  order,
  queue,
  research,
  rounds,
  survey,
  talk,
}
