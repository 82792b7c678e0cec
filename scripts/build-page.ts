// Builds the studio's page from src/studio/web/ into dist/studio/web/. The page's libraries are bundled, so they are
// development dependencies. Nothing is inlined: the page's Content-Security-Policy refuses inline scripts and styles.
import { join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')

export async function buildPage(outDir: string): Promise<void> {
  await build({
    root: join(root, 'src/studio/web'),
    base: './',
    configFile: false,
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      assetsDir: 'assets',
      // the policy also refuses data: URLs
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  })
}
