// The build puts this package into its file (scripts/bundle-packages.ts).
export { diffArrays } from 'diff/lib/diff/array.js'
