// Which runs belong together, by their ids.

/** The run that it is, or works for. */
export function rootOf(run: string): string {
  return run.split('/')[0] as string
}
