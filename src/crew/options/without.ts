// What a crew does without, where a file of CrewAI's asks for it: said for agents and for crews.

export const noMemory = 'there is no memory here; a run knows its inputs and the outputs of its tasks'
export const noPlanning = 'no plan is made before a task; agents plan while they work'
export const noCache = 'a result is used again only where its tool has cache: true'
