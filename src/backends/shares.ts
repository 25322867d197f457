import pLimit, { type LimitFunction } from 'p-limit'
import type { Backend } from './backend.js'
import { backendWith } from './backend-with.js'

/**
 * Parts of datastores that several organizations share: none has more than its part of the exchanges at a time, over all its
 * requests and jobs, and what is more waits for its own. Only organizations with something under way take memory.
 */
export class Shares {
  readonly #parts = new Map<string, { readonly limit: LimitFunction, users: number }>()

  /** An organization's part of a datastore, in exchanges at a time. */
  of (backend: Backend, tenantId: string, most: number): Backend {
    return backendWith(backend, { send: request => this.#within(`${backend.name} ${tenantId}`, most, () => backend.send(request)) })
  }

  /** Organizations that have something under way, for each datastore. */
  get size (): number {
    return this.#parts.size
  }

  async #within<T> (name: string, most: number, work: () => Promise<T>): Promise<T> {
    const part = this.#parts.get(name) ?? { limit: pLimit(most), users: 0 }
    this.#parts.set(name, part)
    part.users++
    try {
      return await part.limit(work)
    } finally {
      if (--part.users === 0) this.#parts.delete(name)
    }
  }
}
