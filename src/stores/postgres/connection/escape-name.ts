/** A name as SQL writes it, whatever is in it. */
export function escapeName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
