import type { FastifyInstance, FastifyRequest } from 'fastify'
import { catalog, Failure, slashError } from '../envelope/failures.js'
import { findNearest } from '../envelope/nearest.js'

interface KnownPath {
  readonly url: string
  readonly methods: Set<string>
  readonly needsKey: boolean
  /** Compiled for the first request without a route: compiling hundreds at startup would slow it down. */
  pattern?: RegExp
}

/** Parts of the path space that are not open to everyone, by their prefixes. */
interface Prefixes {
  /** Below it a request needs a key, even if the path leads nowhere. */
  readonly closed: string
  /** Below these, other handlers respond to requests without a route. */
  readonly separate: readonly string[]
}

/** The methods of every path that some route has, to distinguish a wrong method from a wrong path. */
export class RouteTable {
  readonly #routes: KnownPath[] = []
  readonly #prefixes: Prefixes

  /** Learns all routes that the instance and its scopes get from now on. */
  constructor (app: FastifyInstance, prefixes: Prefixes) {
    this.#prefixes = prefixes
    const seen = new Map<string, Set<string>>()
    app.addHook('onRoute', ({ url, method, prefix }) => {
      const methods = seen.get(url) ?? new Set()
      if (methods.size === 0) this.#routes.push({ url, methods, needsKey: isBelow(prefix, prefixes.closed) })
      for (const name of [method].flat()) methods.add(name)
      seen.set(url, methods)
    })
  }

  /**
   * A route takes an empty id as well, which is no id but a slash too many.
   * @throws {Failure} METHOD_NOT_ALLOWED or NOT_FOUND
   */
  requireRoute (request: FastifyRequest): void {
    if (request.is404 || getPath(request).endsWith('/')) this.refuse(request)
  }

  /** @throws {Failure} METHOD_NOT_ALLOWED or NOT_FOUND, for a request that no route takes. */
  refuse (request: FastifyRequest): never {
    const path = getPath(request)
    const allowed = this.#findMethods(path)
    if (allowed.size === 0) throw new Failure('NOT_FOUND', { message: this.#buildRemedy(path) })
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: [...allowed].sort().join(', ') } })
  }

  /** The remedy for a path without a route. It never contains a part of the path, which may be an id. */
  #buildRemedy (path: string): string {
    if (this.#findMethods(withoutEmptySegments(path)).size > 0) return slashError
    const { closed } = this.#prefixes
    const nameIn = (url: string): string => isBelow(url, closed) ? url.slice(closed.length + 1).split('/', 1)[0]! : ''
    const names = [...new Set(this.#routes.map(({ url }) => nameIn(url)))].filter(name => /^[\w-]+$/.test(name))
    const name = nameIn(path)
    const meant = name === '' || names.includes(name) ? undefined : findNearest(name, names)
    return meant === undefined ? catalog.NOT_FOUND.remedy : `Check the path; did you mean ${closed}/${meant}?`
  }

  #findMethods (path: string): ReadonlySet<string> {
    return new Set(this.#routes.filter(route => matchesRoute(route, path)).flatMap(({ methods }) => [...methods]))
  }

  /** Whether the gateway may reveal, even to a client without a key, whether the path of a request has a route. */
  isOpen (request: FastifyRequest): boolean {
    const path = getPath(request)
    const { closed, separate } = this.#prefixes
    if (separate.some(prefix => isBelow(path, prefix))) return false
    return !isBelow(path, closed) || this.#routes.some(route => !route.needsKey && matchesRoute(route, path))
  }
}

const withoutEmptySegments = (path: string): string => path.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')

const isBelow = (path: string, prefix: string): boolean => `${path}/`.startsWith(`${prefix}/`)

const getPath = ({ raw }: FastifyRequest): string => raw.url!.split('?', 1)[0]!

const matchesRoute = (route: KnownPath, path: string): boolean => (route.pattern ??= toPattern(route.url)).test(path)

/** `/v1/patients/:id` as a regular expression; a final `*` matches any rest. */
function toPattern (url: string): RegExp {
  const segments = url.split('/').map(segment => {
    if (segment === '*') return '.*'
    return segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
