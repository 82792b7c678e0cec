// The placeholders of a text: `{name}` stands for an input. `{{` is a literal brace, as is the `}}` that closes one;
// braces that hold no identifier (JSON, for one) stay as they are.

const pattern = /\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names that a text uses, each once, in order. */
export function placeholders(text: string): string[] {
  return [...new Set([...text.matchAll(pattern)].flatMap((match) => (match[1] === undefined ? [] : [match[1]])))]
}

/** The text with its inputs. A placeholder for which there is none stays as it is. */
export function fillIn(text: string, valueOf: (name: string) => string | undefined): string {
  let open = 0
  return text.replaceAll(pattern, (found, name: string | undefined) => {
    if (found === '{{') {
      open += 1
      return '{'
    }
    // only behind a `{{`: two braces that close JSON are just that
    if (found === '}}' && open > 0) {
      open -= 1
      return '}'
    }
    return name === undefined ? found : (valueOf(name) ?? found)
  })
}
