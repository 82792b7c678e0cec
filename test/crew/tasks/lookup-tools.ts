// A module that exports nothing but tools, as people keep them.
import { tool, type Tool } from 'reprise'
import { z } from 'zod'

export const lookUp: Tool = tool({
  name: 'look_up',
  description: 'Look it up',
  effect: 'read',
  input: z.object({}),
  run: () => 'found',
})
