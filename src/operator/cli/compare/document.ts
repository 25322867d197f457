/** An object of an OpenAPI document from an unknown source: its members are read by name, and may be of any type. */
export type Part = Readonly<Record<string, unknown>>

/** An operation of a document, in the terms in which two of them are compared. */
export interface Operation {
  /** `GET /v1/patients/{id}`, as the document has it. */
  readonly name: string
  readonly query: ReadonlyMap<string, Schemas>
  readonly request: Schemas
  readonly response: Schemas
}

/** The schemas that describe one value: a reference, and each member of allOf, anyOf and oneOf, is one of them. */
export type Schemas = readonly Part[]

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** An OpenAPI 3.x document of which nothing is taken for granted. References are followed within it alone. */
export class OpenApiDocument {
  /** References that lead out of the document or to nothing. */
  readonly unresolved = new Set<string>()

  /** @throws {Error} whose message states the error in the document */
  constructor (private readonly root: unknown) {
    const { openapi, paths } = toPart(root)
    if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) throw new Error('it is not an OpenAPI 3 document')
    if (!isPart(paths)) throw new Error('it has no paths')
  }

  /**
   * The operations by what two documents have in common: the method, and the path below the version, without the names
   * of its parameters.
   */
  collectOperations (): ReadonlyMap<string, Operation> {
    const { paths, servers } = toPart(this.root)
    const base = parseBasePath(servers)
    const found = new Map<string, Operation>()
    for (const [path, value] of Object.entries(toPart(paths))) {
      const item = this.resolve(value)
      for (const method of methods) {
        if (!isPart(item[method])) continue
        const operation = this.resolve(item[method])
        const name = `${method.toUpperCase()} ${path}`
        found.set(`${method} ${toComparablePath(base + path)}`, {
          name,
          query: this.#collectQueryParameters([item, operation]),
          request: this.#findJsonSchemas(this.resolve(operation.requestBody)),
          response: this.#findResponseSchemas(toPart(operation.responses))
        })
      }
    }
    return found
  }

  /** All schemas that these are made of, without references. */
  flatten (schemas: Schemas): Schemas {
    const found = new Set<Part>()
    const waiting = [...schemas]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const schema = this.resolve(next)
      if (found.has(schema)) continue
      found.add(schema)
      for (const name of ['allOf', 'anyOf', 'oneOf']) waiting.push(...toParts(schema[name]))
    }
    return [...found]
  }

  /** The target of a reference, through any number of references; the part itself if it is no reference. */
  resolve (value: unknown): Part {
    const seen = new Set<unknown>()
    let part = toPart(value)
    while (typeof part.$ref === 'string' && !seen.has(part)) {
      seen.add(part)
      part = this.#resolvePointer(part.$ref)
    }
    return part
  }

  #resolvePointer (reference: string): Part {
    let target: unknown = reference.startsWith('#/') ? this.root : undefined
    for (const step of reference.slice(2).split('/')) {
      const name = decodePointerSegment(step).replaceAll('~1', '/').replaceAll('~0', '~')
      target = isPart(target) && Object.hasOwn(target, name) ? target[name] : undefined
    }
    if (!isPart(target)) this.unresolved.add(reference)
    return toPart(target)
  }

  #collectQueryParameters (holders: readonly Part[]): ReadonlyMap<string, Schemas> {
    const parameters = holders
      .flatMap(({ parameters }) => toParts(parameters))
      .map(parameter => this.resolve(parameter))
      .filter(parameter => parameter.in === 'query' && typeof parameter.name === 'string')
    return new Map(parameters.map(({ name, schema }) => [name as string, isPart(schema) ? [schema] : []]))
  }

  #findResponseSchemas (responses: Part): Schemas {
    const [status] = Object.keys(responses).filter(status => /^2/.test(status)).sort()
    return status === undefined ? [] : this.#findJsonSchemas(this.resolve(responses[status]))
  }

  #findJsonSchemas ({ content }: Part): Schemas {
    const types = Object.keys(toPart(content)).filter(type => /\bjson\b/i.test(type))
    const type = types.find(type => type === 'application/json') ?? types[0]
    const { schema } = type === undefined ? {} as Part : toPart(toPart(content)[type])
    return isPart(schema) ? [schema] : []
  }
}

export function isPart (value: unknown): value is Part {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

const nothing: Part = {}
const toPart = (value: unknown): Part => isPart(value) ? value : nothing

const toParts = (value: unknown): Part[] => Array.isArray(value) ? value.filter(isPart) : []

function decodePointerSegment (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The path of the first server, with the defaults of its variables. */
function parseBasePath (servers: unknown): string {
  const [{ url, variables } = nothing] = toParts(servers)
  if (typeof url !== 'string') return ''
  const text = url.replace(/\{([^}]*)\}/g, (_, name: string) => String(toPart(toPart(variables)[name]).default ?? name))
  return URL.canParse(text, 'http://localhost') ? new URL(text, 'http://localhost').pathname.replace(/\/$/, '') : ''
}

/** A path below the version, `/v1`, since the address before it differs; `{}` replaces each parameter. */
function toComparablePath (path: string): string {
  return path.replace(/^.*?\/v\d+(?=\/|$)/, '').replace(/\{[^}]*\}/g, '{}').replace(/\/$/, '')
}
