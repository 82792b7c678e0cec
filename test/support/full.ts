/**
 * Whether this is `npm run test:full`: everything, however long it takes. Otherwise properties are tried on fewer
 * examples.
 */
export const isFull: boolean = process.env['REPRISE_TEST_KILLS'] === 'all'
