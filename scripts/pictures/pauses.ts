/** How long models take, one after another: uneven, as they do, and the same whenever the pictures are taken. */
export function pauses(): () => number {
  const all = [620, 1_150, 480, 900, 1_400, 700, 1_050, 560]
  let count = 0
  return () => (all[count++ % all.length] ?? 0) / 2
}
