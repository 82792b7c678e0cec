// The first import of every entry point: an older Node fails here, with one sentence, and not deep inside with another.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 16)) {
  throw new Error(
    `reprise needs Node.js 24.16 or newer, and this is ${process.versions.node}; install a newer Node.js, or run: npx -p node@24 node <file>`,
  )
}
export {}
