// Reprise uses one function each of a few packages. In `dist`, the modules that export these functions hold their code,
// with its licence, so that users do not install the rest of the package.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')

/** By the module, without its ending, below `src` and `dist`: the package whose function it exports. */
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
