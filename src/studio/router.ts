// The build bundles this package into the file (scripts/bundle-packages.ts).
export { Hono } from 'hono'
