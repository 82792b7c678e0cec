// Builds the studio's page from src/studio/web/ into dist/studio/web/. The page's libraries end up in its files, so
// they are development dependencies. Everything is a file of its own: the page is served with a policy that refuses
// inline scripts and styles.
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
      // a data: URL is refused by the policy
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  })
}
