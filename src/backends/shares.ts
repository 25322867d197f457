import pLimit, { type LimitFunction } from 'p-limit'
import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'

/**
 * Limits each organization's concurrent exchanges with a shared datastore, across all its requests and jobs. Excess
 * exchanges wait for the organization's own to finish. Only organizations with exchanges in progress take memory.
 */
export class TenantConcurrency {
  readonly #parts = new Map<string, { readonly limit: LimitFunction, users: number }>()

  /** The datastore with an organization's limit of `most` concurrent exchanges. */
  of (backend: Backend, tenantId: string, max: number): Backend {
    return decorateBackend(backend, {
      send: request => this.#within(`${backend.name} ${tenantId}`, max, () => backend.send(request))
    })
  }

  /** The number of pairs of datastore and organization with exchanges in progress. */
  get size (): number {
    return this.#parts.size
  }

  async #within<T> (name: string, max: number, work: () => Promise<T>): Promise<T> {
    const part = this.#parts.get(name) ?? { limit: pLimit(max), users: 0 }
    this.#parts.set(name, part)
    part.users++
    try {
      return await part.limit(work)
    } finally {
      if (--part.users === 0) this.#parts.delete(name)
    }
  }
}
