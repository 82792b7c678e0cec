/** In CI, tests fail that would be skipped elsewhere because a program is missing. */
export const isCi: boolean = !['', '0', 'false'].includes(process.env['CI'] ?? '')
