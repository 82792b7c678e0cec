// The first import of every entry point. A Node that is too old fails here with a clear message, instead of later with
// an obscure one. Checks for the newest feature that is needed and not for a version, since other runtimes have their
// own.
if (typeof Promise.try !== 'function') {
  throw new Error(
    `reprise needs Node.js 24 or newer, but this is ${process.versions.node}; install a newer Node.js, or run: npx -p node@24 node <file>`,
  )
}
export {}
