// Copies an object without its undefined fields, so that these are not written, compared or taken for given values.

export type Defined<Fields> = { [K in keyof Fields as undefined extends Fields[K] ? never : K]: Fields[K] } & {
  [K in keyof Fields as undefined extends Fields[K] ? K : never]?: Exclude<Fields[K], undefined>
}

export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  const given: { [name: string]: unknown } = {}
  for (const name of Object.keys(fields)) {
    const value: unknown = fields[name as keyof Fields]
    if (value !== undefined) given[name] = value
  }
  return given as Defined<Fields>
}
