/**
 * Returns a function that returns how many ms the next model call takes: uneven, but the same for every run of the
 * script.
 */
export function pauses(): () => number {
  const all = [620, 1_150, 480, 900, 1_400, 700, 1_050, 560]
  let count = 0
  return () => (all[count++ % all.length] ?? 0) / 2
}
