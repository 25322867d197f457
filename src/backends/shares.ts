import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'

/** How many exchanges of one organization are in progress at one datastore, and those that wait, the oldest first. */
interface Share { inProgress: number, readonly waiting: Array<() => void> }

/**
 * Limits each organization's concurrent exchanges with a shared datastore, across all its requests and jobs. Excess
 * exchanges wait for the organization's own to finish. Only organizations with exchanges in progress take memory.
 */
export class TenantConcurrency {
  readonly #shares = new Map<string, Share>()

  /** The datastore with an organization's limit of `max` concurrent exchanges. */
  limit (backend: Backend, tenantId: string, max: number): Backend {
    const name = `${backend.name} ${tenantId}`
    const end = () => this.#end(name)
    return decorateBackend(backend, {
      send: request => {
        // No promise of its own for an exchange that need not wait, as hardly any does.
        const turn = this.#begin(name, max)
        const response = turn === undefined ? backend.send(request) : turn.then(() => backend.send(request))
        response.then(end, end)
        return response
      }
    })
  }

  /** The number of pairs of datastore and organization with exchanges in progress. */
  get size (): number {
    return this.#shares.size
  }

  /** @returns what an exchange has to wait for; undefined if it may begin */
  #begin (name: string, max: number): Promise<void> | undefined {
    const share = this.#shares.get(name)
    if (share === undefined) {
      this.#shares.set(name, { inProgress: 1, waiting: [] })
    } else if (share.inProgress < max) {
      share.inProgress++
    } else {
      return new Promise(resolve => share.waiting.push(resolve))
    }
  }

  /** The oldest that waits takes the place of the one that has ended. */
  #end (name: string): void {
    const share = this.#shares.get(name)!
    const next = share.waiting.shift()
    if (next !== undefined) next()
    else if (--share.inProgress === 0) this.#shares.delete(name)
  }
}
