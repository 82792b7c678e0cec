// The four looks of a view (width and colour scheme), combined into one picture that is small enough for a repository.
// Chromium draws and encodes it, so that no image library is needed.
import type { Page } from 'playwright-core'

export interface Look {
  readonly name: string
  readonly colorScheme: 'light' | 'dark'
  readonly viewport: { readonly width: number; readonly height: number }
}

const wide = { width: 1280, height: 800 }
const narrow = { width: 375, height: 800 }

/** In the order of a sheet: two rows of two. */
export const looks: readonly Look[] = [
  { name: 'wide-light', colorScheme: 'light', viewport: wide },
  { name: 'narrow-light', colorScheme: 'light', viewport: narrow },
  { name: 'wide-dark', colorScheme: 'dark', viewport: wide },
  { name: 'narrow-dark', colorScheme: 'dark', viewport: narrow },
]

const gap = 24
/** Keeps text readable, and all sheets together below 1.5 MB. */
const sheetScale = 0.75
const quality = 0.7

/** Encodes all looks of one view, in the order of `looks`, as one WebP picture. */
export function sheet(drawing: Page, pictures: readonly Buffer[]): Promise<Buffer> {
  const column = wide.width + gap
  const row = wide.height + gap
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

/** Draws pictures at their places into one WebP picture. The space between them stays transparent. */
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
