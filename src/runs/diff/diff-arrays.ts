// The build bundles this package into its output (scripts/bundle-packages.ts).
export { diffArrays } from 'diff/lib/diff/array.js'
