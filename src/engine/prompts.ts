// What the engine itself says to a model. The texts of agents and tasks are in crew/prompts.ts.

export function refusedAnswer(reason: string): string {
  return `Your answer was not accepted: ${reason}\n\nGive the whole answer again, corrected.`
}

export const lastTurn =
  'You have used all the turns that you have for tools. Give your final answer now, without calling a tool.'

export function revisedAnswer(feedback: string): string {
  return `A person has read your answer and wants it changed: ${feedback}\n\nGive the whole answer again, changed like that.`
}

export const judgeInstructions: string =
  'You check the result of a task against one rule. Judge by that rule alone, not by your own taste, and do not mend anything. ' +
  'Answer with JSON: accept (true or false) and reason (what exactly breaks the rule; empty when nothing does).'

export function judgeMessage(rule: string, task: string, result: string): string {
  return `The rule: ${rule}\n\nThe task was:\n${task}\n\nThe result:\n${result}`
}

export function delegatedMessage(task: string, context: string | undefined): string {
  return `A coworker hands you this piece of work: ${task}${context ? `\n\nWhat they tell you about it:\n${context}` : ''}\n\nDo it, and give the result itself.`
}

export function questionMessage(question: string, context: string | undefined): string {
  return `A coworker asks you: ${question}${context ? `\n\nWhat they tell you about it:\n${context}` : ''}\n\nAnswer the question itself.`
}
