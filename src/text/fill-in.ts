// Placeholders in texts: `{name}` stands for an input. `{{` and its closing `}}` are literal braces. Braces around
// anything but an identifier, as in JSON, stay as they are. In the texts of a task with `forEach`, `{item}` stands for
// the item, and `{item.title}` for a member of it.

const pattern = /\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_]+)*)\}/g

/** The names of a text's placeholders, in order, without repetitions. */
export function placeholders(text: string): string[] {
  const found = [...text.matchAll(pattern)]
  return [...new Set(found.flatMap(([, name, path]) => (name === undefined || path ? [] : [name])))]
}

/** Returns the text for the placeholder of an item: `{item}` has an empty path, `{item.title}` the path `['title']`. */
export type ItemText = (path: readonly string[]) => string | undefined

/**
 * Replaces placeholders by their inputs, and by the item if there is `itemText`. A placeholder without a value stays as
 * it is.
 */
export function fillIn(text: string, valueOf: (name: string) => string | undefined, itemText?: ItemText): string {
  let open = 0
  return text.replaceAll(pattern, (found, name: string | undefined, path: string = '') => {
    if (found === '{{') {
      open += 1
      return '{'
    }
    // only after a `{{`, since `}}` may also close JSON
    if (found === '}}' && open > 0) {
      open -= 1
      return '}'
    }
    if (name === 'item' && itemText) return itemText(path.split('.').slice(1)) ?? found
    return name === undefined || path !== '' ? found : (valueOf(name) ?? found)
  })
}

/** Replaces only the placeholders for the item. All other placeholders and braces stay as they are. */
export function fillInItem(text: string, itemText: ItemText): string {
  return text.replaceAll(pattern, (found, name: string | undefined, path: string = '') => {
    if (name !== 'item') return found
    // braces of the value must not be read as placeholders later
    return itemText(path.split('.').slice(1))?.replaceAll(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g, '{{$1}}') ?? found
  })
}
