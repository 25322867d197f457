import { parseBody } from '../../envelope/body.js'
import { Failure, fieldIssue, type Issue } from '../../envelope/failures.js'
import { isOfRequests } from '../../files/line-files.js'
import { isSubsetted, type FhirElement, type FhirResource } from '../../mappings/fhir.js'
import type { CreateContext } from '../../mappings/core/element.js'
import { identityFields, type Mapping } from '../../mappings/core/mapping.js'
import { isElement } from '../../mappings/core/path.js'
import { listRuleWarnings } from '../../mappings/core/validate.js'
import { mappings } from '../../mappings/registry.js'
import { wasRead } from '../../record-input/changed-record.js'
import { validateCreate, buildResource, listCompletionWarnings } from '../../record-input/new-record.js'
import { isId } from '../../fhir/names.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { relativizeReferences } from '../../tenant-guard/writes/own-references.js'

/** The record on a line of an import: FHIR, or with a mapping the simple form. */
export interface LineRecord {
  readonly type: string
  /** The record's name on the line: the id of an existing record, or any other, by which lines refer to each other. */
  readonly name?: string
  /** The mapping of the simple form; absent for FHIR. */
  readonly mapping?: Mapping
  /** Whether the line is a record of the simple form as it was read here. */
  readonly wasRead?: true
  /** The content to store, without the name and without what only a datastore sets. */
  readonly body: FhirElement
}

/** The defaults with which lines are read. */
interface LineDefaults {
  /** The type of lines that have none. */
  readonly type?: string | undefined
  /** The base URL of this gateway's raw FHIR: references with this prefix are to local records. */
  readonly fhirBase: string
}

/** @throws {Failure} INVALID_JSON, BAD_REQUEST, VALIDATION_ERROR */
export function readRecord (content: Uint8Array, { type, fhirBase }: LineDefaults): LineRecord {
  const body = parseBody(content)
  if (!isElement(body)) throw new Failure('BAD_REQUEST', { message: 'Each line must be one JSON object.' })
  const own = body.resourceType === undefined ? type : parseType(body.resourceType)
  // A collection is a record of its own only where the client does not say that the lines are of another type.
  if (isOfRequests(body) || (own === 'Bundle' && type !== undefined && type !== own)) throw new CarrierLine()
  if (own === undefined) throw invalidField('resourceType', 'is required, either on the line or for the whole import')
  if (!isTenantType(own)) {
    throw invalidField('resourceType', 'is not an R4 type whose records can belong to one organization')
  }
  const named = nameOf(body.id)
  const mapping =
    body.resourceType === undefined || wasRead(body) ? mappings.find(mapping => mapping.type === own) : undefined
  if (mapping !== undefined) {
    return {
      type: own,
      ...named,
      mapping,
      ...(wasRead(body) && { wasRead: true }),
      body: withoutReadOnlyFields(mapping, body)
    }
  }
  if (body.resourceType === undefined) {
    throw invalidField('resourceType', 'records of this type have no simple form; send FHIR, with resourceType')
  }
  // It would replace the complete record.
  if (isSubsetted(body)) {
    throw invalidField('meta.tag', 'the tag SUBSETTED marks an incomplete record; send the whole record')
  }
  const { id: _, ...resource } = body
  return { type: own, ...named, body: relativizeReferences(resource, fhirBase) }
}

/**
 * The resource of a new record in the simple form, and its fields with the defaults; a line of FHIR is unchanged and
 * has no fields.
 */
export function buildNewContent (
  { mapping, body }: LineRecord,
  createContext: CreateContext
): { readonly resource: FhirResource; readonly fields: FhirElement } {
  if (mapping === undefined) return { resource: body as FhirResource, fields: {} }
  const fields = validateCreate(mapping, body, createContext)
  return { resource: buildResource(mapping, fields), fields }
}

/** The warnings for the client of a new record, as after a single create; none for a line of FHIR. */
export function createWarnings (
  { mapping }: Pick<LineRecord, 'mapping'>,
  fields: FhirElement,
  resource: FhirResource
): readonly Issue[] {
  return mapping === undefined
    ? []
    : [...listCompletionWarnings(mapping, fields), ...listRuleWarnings(mapping, resource)]
}

/** A Bundle of other records; it has a result, but is not counted as a record. */
export class CarrierLine extends Failure {
  constructor () {
    super('VALIDATION_ERROR', {
      issues: [
        fieldIssue(
          'resourceType',
          "the line is a Bundle of other records; send its resources, one on each line, as jq -c '.entry[].resource' prints them"
        )
      ]
    })
  }
}

function parseType (type: unknown): string {
  if (typeof type !== 'string') throw invalidField('resourceType', 'expected an R4 type')
  return type
}

function nameOf (id: unknown): { readonly name?: string } {
  if (id === undefined) return {}
  if (!isId(id)) throw invalidField('id', 'expected 1 to 64 letters, digits, hyphens and dots')
  return { name: id }
}

const identityNames: ReadonlySet<string> = new Set(identityFields)

/** The fields that a client may write; a response of the gateway contains others. */
function withoutReadOnlyFields ({ fields }: Mapping, body: FhirElement): FhirElement {
  const isOurs = (name: string): boolean =>
    identityNames.has(name) || (wasRead(body) && Object.hasOwn(fields, name) && fields[name]!.options.readOnly === true)
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isOurs(name)))
}

function invalidField (field: string, message: string): Failure {
  return new Failure('VALIDATION_ERROR', { issues: [fieldIssue(field, message)] })
}
