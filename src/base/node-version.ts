// The first import of every entry point: a Node that lacks what the code uses fails here, with one sentence, and not
// deep inside with another. It asks for the newest of these things, not for a version: other runtimes have their own.
if (typeof Promise.try !== 'function') {
  throw new Error(
    `reprise needs Node.js 24 or newer, and this is ${process.versions.node}; install a newer Node.js, or run: npx -p node@24 node <file>`,
  )
}
export {}
