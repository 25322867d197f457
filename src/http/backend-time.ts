import type { Backend } from '../backends/backend.js'
import { decorateBackend } from '../backends/decorate.js'

/**
 * How long one request waited for its datastore. Exchanges at the same time are waited for together, and count once.
 */
export class BackendTimer {
  #datastore: string | undefined
  #underWay = 0
  #since = 0
  #ms = 0

  /** Absent while nothing was asked. */
  get datastore (): string | undefined {
    return this.#datastore
  }

  /** In milliseconds, what is still under way included. */
  get ms (): number {
    return this.#underWay > 0 ? this.#ms + performance.now() - this.#since : this.#ms
  }

  /** The same datastore, for whose answers the request waits. */
  for (backend: Backend): Backend {
    return decorateBackend(backend, {
      send: request => {
        this.#begin(backend.name)
        const response = backend.send(request)
        response.then(this.#end, this.#end)
        return response
      }
    })
  }

  #begin (datastore: string): void {
    this.#datastore = datastore
    if (this.#underWay++ === 0) this.#since = performance.now()
  }

  readonly #end = (): void => {
    if (--this.#underWay === 0) this.#ms += performance.now() - this.#since
  }
}
