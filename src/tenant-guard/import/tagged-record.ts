import { randomUUID } from 'node:crypto'
import { mapJson, printJson } from '../../json/json.js'
import type { FhirResource } from '../../mappings/fhir.js'
import type { TenantContext } from '../tenant-context.js'
import { authorize } from '../policy.js'
import { collectReferences, type ReferenceSite } from '../writes/references.js'
import { withIdempotencyTag, tagForTenant } from '../writes/tag-record.js'
import { isLinkElement, resolveSites, type Targets } from './resolve-links.js'

/** A record to store under an id that is the tenant's, or that no other tenant can have. */
export interface ImportedRecord {
  readonly type: string
  readonly id: string
  /** Stored under that id, not under its own. */
  readonly resource: FhirResource
  /** The stored version that the record was made of; another one stored meanwhile is a conflict. */
  readonly version?: string
  /** The stored record that it is a change of, whose faults prevent no change of something else. */
  readonly before?: FhirResource
  /**
   * Where others of the import are stored that the resource refers to; absent where it refers to none, or as stored.
   */
  readonly targets?: Targets
}

/** A record checked as a write alone would be; what it refers to is still as it came. */
export class CheckedRecord {
  readonly type: string
  readonly id: string
  readonly version: string | undefined
  /** The resource with the tenant's tag on it. */
  readonly resource: FhirResource
  /** What it refers to. */
  readonly links: readonly ReferenceSite[]

  /** @throws {Failure} for what no tenant may store */
  constructor (context: TenantContext, { type, id, resource, version, before }: Omit<ImportedRecord, 'targets'>) {
    authorize({ kind: 'import', type: resource.resourceType, id })
    this.type = type
    this.id = id
    this.version = version
    this.resource = withIdempotencyTag(tagForTenant({ ...resource, id }, context.tenant, before), context.tenant)
    this.links = collectReferences(this.resource, [context.backend.baseUrl], context.fhirBase)
  }

  /** The record in JSON, with placeholders for its id and for what it refers to. */
  toTemplate (): RecordTemplate {
    const placeholders = new Map(this.links.map(({ reference }, at) => [reference, formatPlaceholder(at + 1)] as const))
    const withPlaceholders = mapJson({ ...this.resource, id: formatPlaceholder(0) }, (item, name) =>
      isLinkElement(name) && typeof item === 'string' ? placeholders.get(item) ?? item : item
    )
    const text = printJson(withPlaceholders).replaceAll(printedPlaceholder, `${edge}$1${edge}`)
    return new RecordTemplate({ type: this.type, links: this.links, text })
  }

  /** As it will be stored. @param targets where others of its import are stored that it refers to */
  toTagged (targets?: Targets): TaggedRecord {
    return this.toTemplate().fill({ id: this.id, version: this.version, targets })
  }
}

/** A text that no client can send, so that nothing but a placeholder is printed as one. */
const secret = randomUUID()
const formatPlaceholder = (number: number): string => `${secret}:${number}`
const printedPlaceholder = new RegExp(`"${secret}:(\\d+)"`, 'g')

/** Stands before and behind the number of a placeholder: printed JSON contains no such character. */
const edge = '\0'

/** The values for the placeholders of a template. */
interface TemplateValues {
  /** The id under which it is stored: the tenant's, or one that no other tenant can have. */
  readonly id: string
  readonly version?: string | undefined
  readonly targets?: Targets | undefined
}

/**
 * A {@link CheckedRecord} in JSON with placeholders: 0 for its id, and from 1 on for what its links lead to. An import
 * makes it once of each line, and stores it encrypted and authenticated until the ids are known: it is made of nothing
 * else.
 */
export class RecordTemplate {
  readonly type: string
  /** The references of the record, as they were sent. */
  readonly links: readonly ReferenceSite[]
  readonly text: string

  constructor ({ type, links, text }: Pick<RecordTemplate, 'type' | 'links' | 'text'>) {
    this.type = type
    this.links = links
    this.text = text
  }

  /** The record as it will be stored. */
  fill (filling: TemplateValues): TaggedRecord {
    return new TaggedRecord(this, filling)
  }
}

/**
 * A record as the guard would store it; nothing but a {@link RecordTemplate} makes one. An import holds hundreds of
 * them while the datastore works, and a text costs the garbage collector next to nothing.
 */
export class TaggedRecord {
  readonly type: string
  readonly id: string
  readonly version: string | undefined
  /** What the record refers to. */
  readonly links: readonly ReferenceSite[]
  readonly #text: string

  constructor ({ type, links, text }: RecordTemplate, { id, version, targets }: TemplateValues) {
    this.type = type
    this.id = id
    this.version = version
    const resolved = targets && resolveSites(links, targets)
    this.links = resolved?.links ?? links
    const getValue = (number: number): string => {
      if (number === 0) return id
      const { reference } = links[number - 1]!
      return resolved?.texts.get(reference) ?? reference
    }
    this.#text = text
      .split(edge)
      .map((segment, at) => (at % 2 === 0 ? segment : JSON.stringify(getValue(Number(segment)))))
      .join('')
  }

  /** `Type/id` */
  get name (): string {
    return `${this.type}/${this.id}`
  }

  /** The resource in JSON, with the tenant's tag on it. */
  get text (): string {
    return this.#text
  }
}
