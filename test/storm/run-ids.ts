// Run trees, by the ids of runs.

/** The id of the root run. */
export function rootOf(run: string): string {
  return run.split('/')[0] as string
}
