// Opens an address in the browser of whoever sits at this machine, if that can be done.
import { spawn } from 'node:child_process'

const programs: { readonly [platform: string]: readonly [string, ...string[]] } = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

export function openInBrowser(url: string): void {
  const [program, ...words] = programs[process.platform] ?? ['xdg-open']
  const opened = spawn(program, [...words, url], { stdio: 'ignore', detached: true })
  // where there is no browser, the address is printed all the same
  opened.on('error', () => {})
  opened.unref()
}
