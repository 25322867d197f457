import { Failure, maxIssues } from '../../envelope/failures.js'
import { ExactNumber } from '../../json/json.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { uriElements, uriReferenceParents } from './link-elements.js'
import { parseBaseUrl, withoutVersion } from '../full-url.js'
import { isId } from '../../fhir/names.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'

/** A place in a resource that leads to a record, or might. */
export interface ReferenceSite {
  /** FHIRPath of the element that refers: `Observation.performer[0]`. */
  readonly path: string
  /** The reference as it stands there. */
  readonly reference: string
  /** The record as `Type/id`; undefined if the reference leads to none that a tenant could own. */
  readonly record: string | undefined
  /** Whether it is a uri or canonical, and not a Reference. */
  readonly isUri?: true
}

/** Why a reference is refused. A record that is unknown, deleted or another tenant's has one and the same reason. */
const reasons = {
  unknown: 'A reference must lead to an existing record of the same organization.',
  placeholder:
    'A urn: reference can lead only to another entry of the same Bundle, by its fullUrl. No such entry is there.',
  absolute:
    'An absolute URL can lead only to another entry of the same Bundle, by its fullUrl. Refer to a record of this server as Type/id; for a record elsewhere, use identifier or display.',
  form:
    'A reference of this form can lead only to another entry of a transaction, by its fullUrl. In a stored Bundle, use urn:uuid: instead, since datastores alter other forms.',
  relative:
    'A fullUrl without a scheme names a record of this server, and the organization has none of this id. Name an entry by an absolute URL, such as urn:uuid:…, as R4 requires.',
  criteria: 'Criteria in place of an id can be used only in a transaction, as Type?parameter=value.',
  ambiguous:
    'Another entry of the Bundle may be meant, but this reference does not lead to its fullUrl. Refer to the entry by its fullUrl.',
  batch: 'Entries of a batch cannot refer to each other. Send a transaction.',
  conditional:
    'Only a Reference can lead to an entry that is created under criteria, since its id is not known before. Leave out the link, or the criteria.',
  targetType: 'R4 does not allow a reference to a resource of this type here.',
  itself:
    'An entry that is created under criteria cannot refer to itself, since its id is not known before. Leave out the reference, or the criteria.',
  noMatch: 'No record, and no entry of the transaction, meets the criteria of this reference.',
  severalMatch:
    'Several records, or entries of the transaction, meet the criteria of this reference. Narrow them, or use an id or a fullUrl.'
} as const

export type ReferenceReason = keyof typeof reasons

/** A reference that is refused; without a reason, the form of the reference decides it. */
export interface RejectedReference extends Pick<ReferenceSite, 'path' | 'reference'> { readonly reason?: ReferenceReason }

/**
 * A write that refers to something which is not the tenant's, or to nothing. Unknown, deleted and foreign records are
 * refused alike.
 */
export class ReferenceFailure extends Failure {
  /**
   * All invalid references with their text in the resource; `issues` has the paths of the first in the same order. They
   * must not appear in a log or message.
   */
  readonly references: readonly string[]

  constructor (links: readonly RejectedReference[], cause?: unknown) {
    const listed = links
      .slice(0, maxIssues)
      .map(({ path, reference, reason = getReason(reference, path) }) => ({ path, reference, text: reasons[reason] }))
    const issues = listed.map(
      ({ path, text }) =>
        ({ severity: 'error', code: 'business-rule', diagnostics: text, expression: [path] }) as const
    )
    const texts = new Set(listed.map(({ text }) => text))
    const message =
      texts.size === 1 ? [...texts][0]! : 'Several references cannot be resolved. The issues say why for each.'
    super('VALIDATION_ERROR', { message, issues, cause })
    this.references = links.map(({ reference }) => reference)
  }
}

function getReason (reference: string, path: string): ReferenceReason {
  if (/^urn:/i.test(reference)) return 'placeholder'
  if (isAbsolute(reference)) return /^https?:/i.test(reference) ? 'absolute' : 'form'
  return /^[A-Za-z]+\?/.test(reference) ? 'criteria' : path.endsWith('.fullUrl') ? 'relative' : 'unknown'
}

/**
 * Different records that a request, or a line of an import, may refer to: whether each is the tenant's is looked up,
 * and the request counts once.
 */
export const maxReferencedRecords = 10_000

/**
 * The different records that links lead to.
 * @throws {Failure} VALIDATION_ERROR for more than {@link maxReferencedRecords}
 */
export function collectRecords (links: readonly ReferenceSite[]): ReadonlySet<string> {
  const records = new Set(links.map(({ record }) => record).filter(record => record !== undefined))
  if (records.size <= maxReferencedRecords) return records
  const message = `Send less at once: a request can refer to at most ${maxReferencedRecords} different records.`
  throw new Failure('VALIDATION_ERROR', {
    message,
    issues: [{ severity: 'error', code: 'too-costly', diagnostics: message }]
  })
}

/** The references of a part of a resource, as texts that can be compared with {@link ReferenceFailure.references}. */
export function listReferences (part: FhirElement): readonly string[] {
  return collectReferences(part, []).map(({ reference }) => reference)
}

/**
 * Every place in a resource that must be checked before it is written: References wherever they are, and uris and
 * canonicals that lead to a record. References inside the resource and to nothing in particular (identifier or display
 * alone) are not among them.
 * @param bases URLs under which a uri would lead to a record of the datastore
 * @param fhirBase of this gateway: a fullUrl below it names a record here, and is no name for an entry of a stored
 * Bundle
 */
export function collectReferences (
  resource: FhirElement,
  bases: readonly string[],
  fhirBase = ''
): readonly ReferenceSite[] {
  const links: ReferenceSite[] = []
  gather(resource, {
    links,
    inner: container,
    beneath: bases.map(base => `${base}/`),
    fhirBase,
    steps: [String(resource.resourceType ?? '*')]
  })
  return links
}

/**
 * The references that stay inside a resource, and those of the resources around it. They are never copied, since a
 * Bundle may hold a hundred thousand resources that each hold others. `base` is the server's URL in the fullUrl of an
 * entry, against which its relative references are resolved.
 */
interface Inner { readonly own: ReadonlySet<string>, readonly around?: Inner, readonly base?: string }

/**
 * The state of the traversal of a resource. Its path is built only for a reference to a record: all systems of codes
 * are uris.
 */
interface Walk {
  readonly links: ReferenceSite[]
  /**
   * References that lead to the resource itself, to what it contains, or to another entry of its Bundle: `#`, `#p1`, a
   * fullUrl.
   */
  readonly inner: Inner
  /** The prefixes of uris that lead to a record of the datastore. */
  readonly beneath: readonly string[]
  readonly fhirBase: string
  /** Elements by their names, and places in lists, from the resource down. */
  readonly steps: Array<string | number>
}

function gather (value: unknown, walk: Walk): void {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) step(at, value[at], walk)
  } else {
    const element = value as FhirElement
    const inner = isResource(element, walk.steps) ? withInnerReferences(element, walk) : withEntryBase(element, walk)
    const within = inner === walk.inner ? walk : { ...walk, inner }
    for (const key in element) {
      gatherLinks(element, key, within)
      step(key, element[key], within)
    }
  }
}

function step (to: string | number, value: unknown, walk: Walk): void {
  if (value === null || typeof value !== 'object') return
  walk.steps.push(to)
  gather(value, walk)
  walk.steps.pop()
}

function gatherLinks (parent: FhirElement, key: string, walk: Walk): void {
  if (key === 'reference') {
    // HAPI reads a list of one text as that text; everything that is no element must be a reference.
    for (const value of collectLeaves(parent[key])) {
      if (isUriReference(parent, walk.steps) && isAbsolute(value)) noteUri(value, key, walk)
      else noteReference(value, walk)
    }
  } else if (uriElements.has(key)) {
    for (const value of collectLeaves(parent[key])) noteUri(value, key, walk)
  }
}

function noteReference (value: unknown, { links, inner, steps }: Walk): void {
  if (typeof value !== 'string') links.push({ path: formatPath(steps), reference: String(value), record: undefined })
  else if (!isInner(value, inner)) links.push({ path: formatPath(steps), reference: value, record: parseRecord(value) })
}

function noteUri (value: unknown, key: string, { links, beneath, steps }: Walk): void {
  if (typeof value !== 'string') return
  const record = findUriTarget(value, beneath)
  if (record !== 'harmless') links.push({ path: formatPath([...steps, key]), reference: value, record, isUri: true })
}

function findUriTarget (value: string, beneath: readonly string[]): string | undefined | 'harmless' {
  if (beneath.some(base => value.startsWith(base))) return undefined
  const typeEnd = value.indexOf('/')
  if (typeEnd < 0 || !resourceTypes.has(value.slice(0, typeEnd))) return 'harmless'
  return parseCanonicalRecord(value)
}

/** Whether a reference, uri or canonical leads to a record that a tenant could own. */
export function isRecordReference (reference: string): boolean {
  return parseCanonicalRecord(reference) !== undefined
}

/** A canonical may have a version and a fragment. */
const parseCanonicalRecord = (canonical: string): string | undefined => parseRecord(canonical.replace(/[|#].*$/s, ''))

function parseRecord (reference: string): string | undefined {
  const [type, id, history, version, ...rest] = reference.split('/')
  const isVersioned = history === '_history' && isId(version) && rest.length === 0
  return isTenantType(type!) && isId(id) && (history === undefined || isVersioned) ? `${type}/${id}` : undefined
}

/** A key that is no FHIR name is a value from the client, which no message repeats. */
function formatPath ([first, ...steps]: ReadonlyArray<string | number>): string {
  return (
    String(first) +
    steps.map(step => (typeof step === 'number' ? `[${step}]` : `.${/^\w{1,64}$/.test(step) ? step : '*'}`)).join('')
  )
}

function collectLeaves (value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(collectLeaves)
  return isElement(value) || value === null || value === undefined ? [] : [value]
}

function isUriReference (parent: FhirElement, steps: Walk['steps']): boolean {
  const name = getElementName(steps)
  return (
    (name !== undefined && uriReferenceParents.has(name)) ||
    (isResource(parent, steps) && parent.resourceType === 'DetectedIssue')
  )
}

/** Whether this is a whole resource: the outermost, or one where R4 has others within it. */
function isResource ({ resourceType }: FhirElement, steps: Walk['steps']): boolean {
  return typeof resourceType === 'string' && resourceHolders.has(getElementName(steps))
}

const resourceHolders: ReadonlySet<string | undefined> = new Set([undefined, 'contained', 'resource'])

/** The name of the element that holds what the steps lead to; undefined for the outermost resource. */
function getElementName ([, ...steps]: Walk['steps']): string | undefined {
  return steps.findLast(step => typeof step === 'string')
}

function isAbsolute (value: unknown): boolean {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]*:/i.test(value)
}

/** `#` alone is the container; contained resources may refer to it. */
const container: Inner = { own: new Set(['#']) }

function isInner (reference: string, { own, around, base }: Inner): boolean {
  if (own.has(reference) || own.has(withoutVersion(reference))) return true
  return (
    around !== undefined &&
    (isInner(reference, around) || (base !== undefined && isInner(`${base}/${reference}`, around)))
  )
}

/** An entry of a stored Bundle: http://hl7.org/fhir/R4/bundle.html#references */
function withEntryBase ({ fullUrl }: FhirElement, { inner, steps }: Walk): Inner {
  const base = getElementName(steps) === 'entry' ? parseBaseUrl(fullUrl) : undefined
  return base === undefined ? inner : { own: none, around: inner, base }
}

const none: ReadonlySet<string> = new Set()

/** The inner references of a resource, in addition to those of the resources around it. */
function withInnerReferences (
  { resourceType, contained, entry }: FhirElement, { inner: around, fhirBase, beneath }: Walk
): Inner {
  const ids = filterElements(contained).map(({ id }) => id).filter(isId).map(id => `#${id}`)
  const urls =
    resourceType === 'Bundle'
      ? filterElements(entry)
        .map(({ fullUrl }) => fullUrl)
        .filter(isName)
        .filter(url => fhirBase === '' || !url.startsWith(`${fhirBase}/`))
        .filter(url => !beneath.some(base => url.startsWith(base)))
      : []
  return ids.length + urls.length === 0 ? around : { own: new Set([...ids, ...urls]), around }
}

/** HAPI takes a reference of another form, such as `resource:0`, for an id and alters it. */
const isName = (url: unknown): url is string => typeof url === 'string' && /^(?:urn|https?):/i.test(url)

const filterElements = (list: unknown): readonly FhirElement[] => Array.isArray(list) ? list.filter(isElement) : []
