// A step from one layout of a database to the next. Its text never changes once a database has seen it.
export interface Migration {
  readonly number: number
  readonly name: string
  /** SHA-256 of the SQL. */
  readonly checksum: string
  readonly sql: string
}
