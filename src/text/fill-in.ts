// Placeholders in texts: `{name}` stands for an input. `{{` and its closing `}}` are literal braces. Braces around
// anything but an identifier, as in JSON, stay as they are.

const pattern = /\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names of a text's placeholders, in order, without repetitions. */
export function placeholders(text: string): string[] {
  return [...new Set([...text.matchAll(pattern)].flatMap((match) => (match[1] === undefined ? [] : [match[1]])))]
}

/** Replaces placeholders by their inputs. A placeholder without an input stays as it is. */
export function fillIn(text: string, valueOf: (name: string) => string | undefined): string {
  let open = 0
  return text.replaceAll(pattern, (found, name: string | undefined) => {
    if (found === '{{') {
      open += 1
      return '{'
    }
    // only after a `{{`, since `}}` may also close JSON
    if (found === '}}' && open > 0) {
      open -= 1
      return '}'
    }
    return name === undefined ? found : (valueOf(name) ?? found)
  })
}
