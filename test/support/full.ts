/**
 * Whether this is `npm run test:full`, which tests everything, however long it takes. Other runs try fewer examples.
 */
export const isFull: boolean = process.env['REPRISE_TEST_KILLS'] === 'all'
