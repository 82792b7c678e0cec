/** In CI, what is missing fails the tests that would be skipped elsewhere. */
export const isCi: boolean = !['', '0', 'false'].includes(process.env['CI'] ?? '')
