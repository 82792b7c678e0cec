// The looks of a view, and what becomes of them: one picture of all four, small enough for a repository. Chromium draws
// and encodes it, so that nothing has to be installed for that.
import type { Page } from 'playwright-core'

export interface Look {
  readonly name: string
  readonly colorScheme: 'light' | 'dark'
  readonly viewport: { readonly width: number; readonly height: number }
}

const wide = { width: 1280, height: 800 }
const narrow = { width: 375, height: 800 }

/** As they stand on a sheet: two rows of two. */
export const looks: readonly Look[] = [
  { name: 'wide-light', colorScheme: 'light', viewport: wide },
  { name: 'narrow-light', colorScheme: 'light', viewport: narrow },
  { name: 'wide-dark', colorScheme: 'dark', viewport: wide },
  { name: 'narrow-dark', colorScheme: 'dark', viewport: narrow },
]

const apart = 24
/** Words can still be read, and all sheets together have less than 1.5 MB. */
const sheetScale = 0.75
const quality = 0.7

/** All looks of one view, in their order, as WebP. */
export function sheet(drawing: Page, pictures: readonly Buffer[]): Promise<Buffer> {
  const column = wide.width + apart
  const row = wide.height + apart
  return webp(
    drawing,
    pictures.map((png, index) => ({ png, left: (index % 2) * column, top: Math.floor(index / 2) * row })),
    { width: column + narrow.width, height: row + wide.height },
    sheetScale,
  )
}

interface Placed {
  readonly png: Buffer
  readonly left: number
  readonly top: number
}

/** What is between the pictures stays clear, so that a sheet stands on any ground. */
export async function webp(
  drawing: Page,
  placed: readonly Placed[],
  size: Look['viewport'],
  scale = 1,
): Promise<Buffer> {
  const pieces = placed.map(({ png, left, top }) => ({ from: png.toString('base64'), left, top }))
  const encoded = (await drawing.evaluate(`(async () => {
    const canvas = new OffscreenCanvas(${Math.round(size.width * scale)}, ${Math.round(size.height * scale)})
    const context = canvas.getContext('2d')
    context.imageSmoothingQuality = 'high'
    context.scale(${scale}, ${scale})
    for (const { from, left, top } of ${JSON.stringify(pieces)}) {
      const image = new Image()
      image.src = 'data:image/png;base64,' + from
      await image.decode()
      context.drawImage(image, left, top)
    }
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: ${quality} })
    return Array.from(new Uint8Array(await blob.arrayBuffer()))
  })()`)) as number[]
  return Buffer.from(encoded)
}
