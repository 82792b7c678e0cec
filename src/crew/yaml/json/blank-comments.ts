// JSON with comments, as YAML reads JSON: comments become blanks, so that every place in the text stays where it was.

export function blankComments(text: string): string {
  // a string is taken whole, so that what looks like a comment within one stays
  return text.replaceAll(/"(?:[^"\\]|\\[^])*"|\/\/[^\r\n]*|\/\*[^]*?\*\//g, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\r\n]/g, ' '),
  )
}
