import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'

/** The methods of every path that some route has, to tell a wrong method from a wrong path. */
export class KnownPaths {
  readonly #routes: Array<{ readonly pattern: RegExp, readonly methods: Set<string> }> = []

  /** Learns all routes that the instance and its scopes get from now on. */
  constructor (app: FastifyInstance) {
    const seen = new Map<string, Set<string>>()
    app.addHook('onRoute', ({ url, method }) => {
      const methods = seen.get(url) ?? new Set()
      if (methods.size === 0) this.#routes.push({ pattern: patternOf(url), methods })
      for (const name of [method].flat()) methods.add(name)
      seen.set(url, methods)
    })
  }

  /** @throws {Failure} METHOD_NOT_ALLOWED or NOT_FOUND, for a request that no route takes. */
  refuse (request: FastifyRequest): never {
    const path = request.raw.url!.split('?', 1)[0]!
    const allowed = new Set(this.#routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]))
    if (allowed.size === 0) throw new Failure('NOT_FOUND')
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: [...allowed].sort().join(', ') } })
  }
}

/** `/v1/patients/:id` as an expression; a last `*` stands for any rest. */
function patternOf (url: string): RegExp {
  const segments = url.split('/').map(segment => {
    if (segment === '*') return '.*'
    return segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
