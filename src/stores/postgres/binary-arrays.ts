// Encodes arrays in PostgreSQL's binary format: journal lines go over the wire as they are, while a text array would
// write each byte as two characters.

const oids = { text: 25, int8: 20, bool: 16, bytea: 17 } as const
const arrayHeader = 20

export type ElementType = keyof typeof oids
export type Element = string | number | boolean | Uint8Array | null | undefined

export function binaryArray(type: ElementType, elements: readonly Element[]): Buffer {
  return binaryColumn(type, elements, (element) => element)
}

/** An array of one value of each item. */
export function binaryColumn<T>(type: ElementType, items: readonly T[], valueOf: (item: T) => Element): Buffer {
  const values = items.map(valueOf)
  const lengths = values.map(lengthOf)
  const array = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), arrayHeader))
  array.writeInt32BE(1, 0) // dimensions
  array.writeInt32BE(lengths.includes(isNull) ? 1 : 0, 4)
  array.writeInt32BE(oids[type], 8)
  array.writeInt32BE(values.length, 12)
  array.writeInt32BE(1, 16) // the first index
  let at = arrayHeader
  for (const [index, value] of values.entries()) {
    const length = lengths[index] ?? isNull
    at = array.writeInt32BE(length, at)
    if (length === isNull) continue
    write(array, at, value)
    at += length
  }
  return array
}

/** The length of a null. */
const isNull = -1

function lengthOf(element: Element): number {
  switch (typeof element) {
    case 'string':
      return Buffer.byteLength(element)
    case 'number':
      return 8
    case 'boolean':
      return 1
    default:
      return element?.length ?? isNull
  }
}

function write(array: Buffer, at: number, element: Element): void {
  switch (typeof element) {
    case 'string':
      array.write(element, at)
      break
    case 'number': {
      const high = Math.floor(element / 2 ** 32)
      array.writeInt32BE(high, at)
      array.writeUInt32BE(element - high * 2 ** 32, at + 4)
      break
    }
    case 'boolean':
      array[at] = element ? 1 : 0
      break
    default:
      array.set(element ?? [], at)
  }
}
