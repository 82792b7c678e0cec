// The build puts this package into its file (scripts/bundle-packages.ts).
export { getRequestListener } from '@hono/node-server'
