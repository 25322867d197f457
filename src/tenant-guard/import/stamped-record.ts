import { printJson } from '../../json/json.js'
import type { FhirResource } from '../../mappings/fhir.js'
import type { TenantContext } from '../tenant-context.js'
import { authorize } from '../policy.js'
import { collectReferences, type ReferenceSite } from '../writes/references.js'
import { withIdempotencyTag, tagForTenant } from '../writes/stamp.js'
import { resolveLinks, type Targets } from './resolve-links.js'

/** A record to store under an id that is the tenant's, or that no other tenant can have. */
export interface ImportedRecord {
  readonly type: string
  readonly id: string
  /** Stored under that id, whatever its own is. */
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

  /** As it will be stored. @param targets where others of its import are stored that it refers to */
  stamped (targets?: Targets): TaggedRecord {
    return new TaggedRecord(this, targets)
  }
}

/**
 * A record as the guard would store it; nothing but a {@link CheckedRecord} makes one. It is printed at once, since an
 * import holds hundreds of them while the datastore works, and a text costs the garbage collector next to nothing.
 */
export class TaggedRecord {
  readonly type: string
  readonly id: string
  readonly version: string | undefined
  /** What the record refers to. */
  readonly links: readonly ReferenceSite[]
  readonly #text: string

  constructor (checked: CheckedRecord, targets?: Targets) {
    const { resource, links } = targets === undefined ? checked : resolveLinks(checked, targets)
    this.type = checked.type
    this.id = checked.id
    this.version = checked.version
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
