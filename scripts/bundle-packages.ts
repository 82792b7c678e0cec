// Reprise uses a single function of each of a few packages. In `dist`, the modules that export these functions contain
// their code and licence, so that users need not install the packages.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')

/** Modules below `src` and `dist`, without extension, and the package whose function each exports. */
export const bundledPackages: { readonly [module: string]: string } = {
  'runs/diff/diff-arrays': 'diff',
  'studio/node-listener': '@hono/node-server',
  'studio/router': 'hono',
}

export async function bundlePackages(outDir: string): Promise<void> {
  for (const [module, name] of Object.entries(bundledPackages)) {
    const licence = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8')
    await build({
      configFile: false,
      logLevel: 'warn',
      ssr: { noExternal: true },
      build: {
        ssr: true,
        outDir,
        emptyOutDir: false,
        target: 'es2024',
        rolldownOptions: {
          input: { [module]: join(root, 'src', `${module}.ts`) },
          output: { entryFileNames: '[name].js', postBanner: `/*\n${name}\n\n${licence}*/` },
        },
      },
    })
  }
}
