// Parses addresses of the page. Pure functions.

export interface Location {
  /** Decoded parts of the path: `/runs/a%2Fb` is `['runs', 'a/b']`. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export function parseLocation(path: string): Location {
  const url = toUrl(path)
  const parts = url.pathname.split('/').filter((part) => part !== '')
  return { parts: parts.map(decoded), query: url.searchParams }
}

/** Converts a path to a URL. `new URL(path, base)` would read a name after two leading slashes as a host. */
export function toUrl(path: string): URL {
  return new URL(`http://page/${path.replace(/^\/+/, '')}`)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
