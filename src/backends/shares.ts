import pLimit, { type LimitFunction } from 'p-limit'
import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'

/** The limit of one organization at one datastore, and how many exchanges it has in progress. */
interface Part { readonly limit: LimitFunction, users: number }

/**
 * Limits each organization's concurrent exchanges with a shared datastore, across all its requests and jobs. Excess
 * exchanges wait for the organization's own to finish. Only organizations with exchanges in progress take memory.
 */
export class TenantConcurrency {
  readonly #parts = new Map<string, Part>()

  /** The datastore with an organization's limit of `most` concurrent exchanges. */
  of (backend: Backend, tenantId: string, max: number): Backend {
    const name = `${backend.name} ${tenantId}`
    // Made once, since each request would make another one.
    const idle: Part = { limit: pLimit(max), users: 0 }
    return decorateBackend(backend, {
      send: request => this.#within(name, idle, () => backend.send(request))
    })
  }

  /** The number of pairs of datastore and organization with exchanges in progress. */
  get size (): number {
    return this.#parts.size
  }

  /** With the part that is in use, which may be that of an earlier client, or else with the idle one. */
  async #within<T> (name: string, idle: Part, work: () => Promise<T>): Promise<T> {
    const part = this.#parts.get(name) ?? idle
    this.#parts.set(name, part)
    part.users++
    try {
      return await part.limit(work)
    } finally {
      if (--part.users === 0) this.#parts.delete(name)
    }
  }
}
