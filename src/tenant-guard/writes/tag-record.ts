import { entryIdUrl, withEntryIdExtensions } from '../../backends/entry-ids.js'
import { Failure } from '../../envelope/failures.js'
import { ExactNumber, mapJson } from '../../json/json.js'
import { createdUrl, getCreationTime, type FhirElement, type FhirResource, type Meta } from '../../mappings/fhir.js'
import { checkStructure, filterNewFaults, padLists } from '../../mappings/r4/structure.js'
import { isTenantSystem, type Tenant } from '../tenant.js'
import { requireStorableBundle } from './stored-bundle.js'

/**
 * The resource as stored for a tenant: exactly one tag of the tenant system on it and none in what it holds, and
 * nothing in `meta` that the datastore decides. Returns a new object.
 * @throws {Failure} VALIDATION_ERROR for what is not in the form of R4, which a lenient server could read in two ways,
 * and for a label without a system
 * @param before the stored record that the resource is a change of, where it is known
 */
export function tagForTenant (resource: FhirResource, tenant: Tenant, before?: FhirResource): FhirResource {
  requireStorableBundle(resource)
  const { resourceType, id, meta = {}, ...elements } = resource
  // Tags go first: tags that are removed need not be valid.
  const tagged = {
    resourceType,
    ...(id !== undefined && { id }),
    meta: withCreationTime(tagMeta(meta, tenant), before),
    ...withoutTag(elements, tenant)
  }
  const { faults, hasLongExtras } = checkStructure(tagged)
  const issues = faults.length === 0 || before === undefined ? faults : filterNewFaults(faults, { resource, before })
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
  return withEntryIdExtensions(hasLongExtras ? padLists(tagged) : tagged)
}

function tagMeta (received: unknown, tenant: Tenant): Meta {
  const {
    versionId,
    lastUpdated,
    source,
    _versionId,
    _lastUpdated,
    _source,
    tag = [],
    security = [],
    ...meta
  } = removeTagFromMeta(received, tenant)
  const labels = (security as FhirElement[]).map(label => hasSystem(label) ? withoutServerMeta(label) : rejectLabel())
  const tags = tag
    .filter(hasSystem)
    .map(coding =>
      coding.system === getIdempotencyTagSystem(tenant) ? cleanIdempotencyTag(coding) : withoutServerMeta(coding)
    )
  return {
    ...meta,
    ...(labels.length > 0 && { security: labels }),
    tag: [...tags, { system: tenant.system, code: tenant.id }]
  }
}

/** The meta of a change with the time of creation, where the stored record says it. */
function withCreationTime (meta: Meta, before: FhirResource | undefined): Meta {
  const valueInstant = before && getCreationTime(before)
  const { extension = [] } = meta
  // The check of the structure refuses what is no list.
  if (valueInstant === undefined || !Array.isArray(extension)) return meta
  const others = extension.filter(item => item?.url !== createdUrl)
  return { ...meta, extension: [...others, { url: createdUrl, valueInstant }] }
}

/** HAPI treats a coding without a system as any that it knows with the same code, which may be another tenant's tag. */
function hasSystem ({ system }: { readonly system?: unknown }): boolean {
  return typeof system === 'string' && system.trim() !== ''
}

/** A security label controls access to a record, so it is not left out like a tag. */
function rejectLabel (): never {
  throw invalidMeta('Each label in meta.security needs a system.')
}

/**
 * A tag or label by its system and code. HAPI stores the rest once for all records that ever have the code, so one
 * tenant would read, or write, the words of another.
 */
function withoutServerMeta ({
  display,
  _display,
  version,
  _version,
  userSelected,
  _userSelected,
  ...coding
}: FhirElement): FhirElement {
  return coding
}

/** The display of a tag is the time that {@link withIdempotencyTag} set. */
function cleanIdempotencyTag (coding: FhirElement): FhirElement {
  const { display } = coding
  return {
    ...withoutServerMeta(coding),
    ...(typeof display === 'string' && /^[\dT:.-]{23}Z$/.test(display) && { display })
  }
}

/** The system of the tags that identify an earlier create; always next to the tenant's tag. */
export const getIdempotencyTagSystem = ({ system }: Tenant): string => `${system}:idempotency`

/**
 * A tagged resource with this idempotency tag, or none, in place of any that the client sent: two records with one tag
 * would be mistaken for each other.
 */
export function withIdempotencyTag (
  resource: FhirResource,
  tenant: Tenant,
  idempotencyTag?: { readonly code: string; readonly seenAt: Date }
): FhirResource {
  const tags = resource.meta?.tag ?? []
  const others = tags.filter(({ system }) => system !== getIdempotencyTagSystem(tenant))
  if (idempotencyTag === undefined && others.length === tags.length) return resource
  const newTags =
    idempotencyTag === undefined
      ? []
      : [
          {
            system: getIdempotencyTagSystem(tenant),
            code: idempotencyTag.code,
            display: idempotencyTag.seenAt.toISOString()
          }
        ]
  return { ...resource, meta: { ...resource.meta, tag: [...others, ...newTags] } }
}

/** Any part of a resource, with each `meta` in it cleaned; the same object when there was nothing to clean. */
function withoutTag<T> (value: T, tenant: Tenant): T {
  return mapJson(value, (item, name) => {
    if (name === 'meta') return withoutEmptied(removeTagFromMeta(item, tenant), item)
    if (isObject(item)) rejectServerExtension(item.url)
    return item
  })
}

/** Nothing in place of a meta that had nothing but tags of tenants: R4 has no empty objects. */
function withoutEmptied (meta: Meta, before: unknown): Meta | undefined {
  return meta !== before && Object.keys(meta).length === 0 ? undefined : meta
}

/** Extensions by which HAPI and Smile CDR record where content lies and to which partition a record belongs. */
const serverExtension = /^\s*https?:\/\/(?:\w+\.)*(?:hapifhir\.io|smilecdr\.com)(?:[/:?#]|\s*$)/i

function rejectServerExtension (url: unknown): void {
  if (typeof url !== 'string') return
  // A datastore may drop spaces around it.
  const isOurs = url.trim() === entryIdUrl
  if (!isOurs && !serverExtension.test(url)) return
  const owner = isOurs ? 'gateway' : 'datastore'
  const diagnostics = `An extension here is the ${owner}'s own; leave it out.`
  throw new Failure('VALIDATION_ERROR', {
    message: diagnostics,
    issues: [{ severity: 'error', code: 'business-rule', diagnostics }]
  })
}

function removeTagFromMeta (meta: unknown, tenant: Tenant): Meta {
  if (!isObject(meta) || '_tag' in meta || '_security' in meta) throw unclearMeta()
  withoutTag(Object.values(meta), tenant)
  const tag = removeTagFromLabels(meta.tag, tenant)
  const security = removeTagFromLabels(meta.security, tenant)
  if (tag === meta.tag && security === meta.security) return meta
  const { tag: _, security: __, ...others } = meta
  return { ...others, ...isFilled(security) && { security }, ...isFilled(tag) && { tag } }
}

function removeTagFromLabels (labels: unknown, tenant: Tenant): FhirElement[] | undefined {
  if (labels === undefined) return undefined
  // HAPI reads an object where a list belongs, and a list where a text belongs, as if it were right.
  if (
    !Array.isArray(labels) ||
    !labels.every(label => isObject(label) && ['string', 'undefined'].includes(typeof label.system))
  ) { throw unclearMeta() }
  const remainingTags = labels.filter(label => !isTenantSystem(label.system, tenant))
  return remainingTags.length === labels.length ? labels : remainingTags
}

function isFilled (labels: readonly FhirElement[] | undefined): boolean {
  return labels !== undefined && labels.length > 0
}

/** Objects of every class, since one that is not recognized would not be checked. */
function isObject (value: unknown): value is FhirElement {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof ExactNumber)
}

function unclearMeta (): Failure {
  return invalidMeta('meta must be an object whose tag and security are lists of codings.')
}

function invalidMeta (diagnostics: string): Failure {
  return new Failure('VALIDATION_ERROR', {
    message: diagnostics,
    issues: [{ severity: 'error', code: 'structure', diagnostics, expression: ['meta'] }]
  })
}
