import { referTo, type JsonSchema } from '../../envelope/openapi-responses.js'

/** The schemas that the document defines once and refers to by name. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>()

  readonly #sources = new Map<string, Set<unknown>>()

  /**
   * A reference to the schema of this name, which may refer to itself.
   * @param source the object that it is made from; the same source is not made again
   * @throws {Error} when another schema has the name
   */
  define (name: string, source: unknown, make: () => JsonSchema): JsonSchema {
    const sources = this.#sources.get(name) ?? new Set()
    if (sources.has(source)) return referTo(name)
    this.#sources.set(name, sources.add(source))
    const known = this.#schemas.get(name)
    const made = make()
    if (known !== undefined && !isSame(known, made)) {
      throw new Error(`two schemas of the OpenAPI document are named ${name}`)
    }
    this.#schemas.set(name, made)
    return referTo(name)
  }

  /** A reference to the schema by this name; the schema itself where another one has the name already. */
  share (name: string, schema: JsonSchema): JsonSchema {
    const known = this.#schemas.get(name)
    if (known !== undefined && !isSame(known, schema)) return schema
    this.#schemas.set(name, schema)
    return referTo(name)
  }

  /** All of them, by their names. */
  all (): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => a < b ? -1 : 1))
  }
}

const isSame = (a: JsonSchema, b: JsonSchema): boolean => JSON.stringify(a) === JSON.stringify(b)
