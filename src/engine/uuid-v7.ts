// Ids of runs that sort by the time at which they were made (RFC 9562, version 7): 48 bits of milliseconds, then
// chance. Our own, since Node makes them only from 24.16 on, and other runtimes don't.

/** `time` is in milliseconds, as Date.now() gives it. */
export function uuidV7(time: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(time / 2 ** 32))
  view.setUint32(2, time % 2 ** 32)
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f))
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
