import { printJson } from '../../json.js'
import type { FhirResource } from '../../mappings/fhir.js'
import type { Door } from '../door.js'
import { decide } from '../policy.js'
import { linksIn, type Link } from '../writes/references.js'
import { marked, stamp } from '../writes/stamp.js'
import { resolveLinks, type Linked, type Targets } from './resolve-links.js'

/** A record that is to be stored under an id which is the tenant's, or which nobody else can have. */
export interface ImportedRecord {
  readonly type: string
  readonly id: string
  /** Stored under that id, whatever its own is. */
  readonly resource: FhirResource
  /** The stored version that the record was made of; another one stored meanwhile is a conflict. */
  readonly version?: string
  /** Where others of the import are stored that the resource refers to; absent where it refers to none, or as they are stored. */
  readonly targets?: Targets
}

/**
 * A record as the guard would store it, checked as a write alone would be; nothing else makes one. It is printed at once, since
 * an import holds hundreds of them while the datastore works, and a text costs the garbage collector next to nothing.
 */
export class StampedRecord {
  readonly type: string
  readonly id: string
  readonly version: string | undefined
  /** What the record refers to. */
  readonly links: readonly Link[]
  readonly #text: string

  /** @throws {Failure} for what no tenant may store */
  constructor (door: Door, record: ImportedRecord) {
    const { resource, links } = checked(door, record)
    this.type = record.type
    this.id = record.id
    this.version = record.version
    this.links = links
    this.#text = printJson(resource)
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

/**
 * A new resource as the guard would store it, and what it refers to.
 * @throws {Failure} for what no tenant may store
 */
export function checked (door: Door, { resource, id, targets }: Pick<ImportedRecord, 'resource' | 'id' | 'targets'>): Linked {
  decide({ kind: 'import', type: resource.resourceType, id })
  const stamped = marked(stamp({ ...resource, id }, door.tenant), door.tenant)
  const linked = { resource: stamped, links: linksIn(stamped, [door.backend.baseUrl, door.fhirBase]) }
  return targets === undefined ? linked : resolveLinks(linked, targets)
}
