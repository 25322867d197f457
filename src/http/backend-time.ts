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

  /** Absent until the first request to the datastore. */
  get datastore (): string | undefined {
    return this.#datastore
  }

  /** In milliseconds, including exchanges that are in progress. */
  get ms (): number {
    return this.#underWay > 0 ? this.#ms + performance.now() - this.#since : this.#ms
  }

  /** The same datastore, with the time measured that the request waits for its responses. */
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
