// An object without the fields that have no value: what is not there must not be written, compared or taken for given.

export type Defined<Fields> = { [K in keyof Fields as undefined extends Fields[K] ? never : K]: Fields[K] } & {
  [K in keyof Fields as undefined extends Fields[K] ? K : never]?: Exclude<Fields[K], undefined>
}

export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}
