/**
 * Seconds for which this process has used a processor. Unlike a clock, it does not count what the machine does beside.
 */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}
