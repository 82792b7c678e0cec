// What the engine itself says to a model. The texts of agents and tasks are in crew/prompts.ts.

export function refusedAnswer(reason: string): string {
  return `Your answer was not accepted: ${reason}\n\nGive the whole answer again, corrected.`
}

export const lastTurn =
  'You have used all the turns that you have for tools. Give your final answer now, without calling a tool.'
