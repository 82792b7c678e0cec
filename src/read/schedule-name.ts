// The crew name and the run ids of schedules that were added to a store. Each is a chain of runs of an internal flow:
// at every time of the schedule, a run ends and the next one continues. Lists leave these runs out.

/** Names of other crews contain no colon after `reprise`. */
export const scheduleCrew = 'reprise:schedule'

export function isScheduleCrew(crew: string): boolean {
  return crew === scheduleCrew
}

/** The id of a run that keeps a schedule: `reprise:schedule:nightly`, then `reprise:schedule:nightly~2`. */
export function scheduleRunId(name: string, number: number): string {
  return `${scheduleCrew}:${name}${number === 1 ? '' : `~${number}`}`
}

/** The schedule that a run keeps, and the place of the run in its chain. */
export function readScheduleRunId(run: string): { readonly name: string; readonly number: number } {
  const [, name = run, number = '1'] = /^reprise:schedule:(.*?)(?:~(\d+))?$/s.exec(run) ?? []
  return { name, number: Number(number) }
}
