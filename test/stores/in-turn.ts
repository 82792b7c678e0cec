import type { Store } from 'reprise/stores'

/**
 * Two handles on one place as one store: calls alternate between them. `watching` resolves once each watch has begun.
 */
export function inTurn(first: Store, second: Store, watching: () => Promise<unknown> = async () => {}): Store {
  let calls = 0
  const other = (): Store => (++calls % 2 === 0 ? first : second)
  return {
    url: first.url,
    create: async (...given) => watching().then(() => other().create(...given)),
    append: async (...given) => watching().then(() => other().append(...given)),
    read: (...given) => other().read(...given),
    lastNoted: async (...given) => watching().then(() => other().lastNoted(...given)),
    blob: async (...given) => watching().then(() => other().blob(...given)),
    row: async (...given) => watching().then(() => other().row(...given)),
    list: async (...given) => watching().then(() => other().list(...given)),
    findOutput: async (...given) => watching().then(() => other().findOutput(...given)),
    acquire: async (...given) => watching().then(() => other().acquire(...given)),
    claim: async (...given) => watching().then(() => other().claim(...given)),
    ready: async (...given) => watching().then(() => other().ready(...given)),
    renew: async (...given) => watching().then(() => other().renew(...given)),
    release: async (...given) => watching().then(() => other().release(...given)),
    holder: async (...given) => watching().then(() => other().holder(...given)),
    now: async () => other().now(),
    tries: async (...given) => watching().then(() => other().tries(...given)),
    post: async (...given) => watching().then(() => other().post(...given)),
    inbox: async (...given) => watching().then(() => other().inbox(...given)),
    watch: (...given) => other().watch(...given),
    delete: async (...given) => watching().then(() => other().delete(...given)),
    async close() {
      await watching()
      await first.close()
      await second.close()
    },
  }
}
