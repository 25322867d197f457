import type { Backend } from './backend.js'

/** The same datastore with some methods replaced. */
export function decorateBackend (backend: Backend, overrides: Partial<Backend>): Backend {
  return {
    name: backend.name,
    baseUrl: backend.baseUrl,
    upstream: backend.upstream,
    // Delegated one by one, since they may be methods of a class.
    send: request => backend.send(request),
    stream: request => backend.stream(request),
    normalize: line => backend.normalize(line),
    probe: () => backend.probe(),
    close: () => backend.close(),
    ...overrides
  }
}
