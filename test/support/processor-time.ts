/** Processor time of this process in seconds. Unlike a clock, it does not count the machine's other work. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}
