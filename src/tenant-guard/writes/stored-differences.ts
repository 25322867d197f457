import { withoutEntryIdExtensions } from '../../backends/entry-ids.js'
import { fieldIssue, maxIssues, type Issue } from '../../envelope/failures.js'
import { ExactNumber, isNumber } from '../../json/json.js'
import type { FhirElement, FhirResource, StoredResource } from '../../mappings/fhir.js'
import { findElementDefinitions } from '../../mappings/r4/elements.js'
import { printPath, type Step } from '../../mappings/r4/walk.js'
import type { TenantContext } from '../tenant-context.js'

/** How a datastore writes references to its own records. */
interface Notation {
  readonly baseUrl?: string
  /** Of a transaction: the record that each placeholder became, as `Type/id`. */
  readonly placeholders?: ReadonlyMap<string, string>
}

/**
 * A warning for each part of a record that the datastore stored differently than it was sent; also reports them to the
 * operator. `record` is the version that this very write produced.
 * @param sent the record as the datastore received it
 */
export function warnAboutDifferences (
  { backend, onDifferences }: TenantContext,
  sent: FhirResource,
  { record, placeholders }: Pick<Notation, 'placeholders'> & { readonly record: StoredResource }
): readonly Issue[] {
  const { baseUrl, name } = backend
  const paths = findStoredDifferences(sent, record, { baseUrl, ...(placeholders !== undefined && { placeholders }) })
  if (paths.length === 0) return []
  const warnings = paths.map(path => ({
    ...fieldIssue(path, storedDifferently, 'informational'),
    severity: 'warning' as const
  }))
  onDifferences?.({ datastore: name, type: record.resourceType, paths })
  return warnings
}

const storedDifferently =
  'the datastore did not store this as it was sent; read the record, and tell the operator if something is missing'

/** Where the comparison is. The path is printed only where something differs. */
interface Walk extends Notation {
  readonly sent: FhirResource
  readonly steps: Step[]
  readonly found: Set<string>
}

/**
 * Where a record that a datastore stored differs from the one that it received, as expressions without values:
 * `['Patient.name[0].given']`. Empty if everything was stored as it was sent. Both lost and added content is a
 * difference, except what the server decides itself:
 * - `id`, `meta.versionId`, `meta.lastUpdated`, `meta.source` and further labels in `meta` of the record itself;
 * - `fullUrl` that it adds to entries of a Bundle;
 * - space, entities and self-closing tags in a narrative, and line breaks in base64, whose bytes are compared;
 * - another notation of the same number with the same precision: `1e2` is `100`, but `1.10` is not `1.1`;
 * - nulls that no extension stands for;
 * - its own URL before a reference, and a record in place of a transaction's placeholder.
 *
 * Pure, so that a test and a production warning report the same.
 * @param sent the record as the datastore received it, after references were replaced and the tenant's tag was set
 */
export function findStoredDifferences (
  sent: FhirResource,
  stored: FhirResource,
  notation: Notation = {}
): readonly string[] {
  const walk: Walk = { ...notation, sent, steps: [], found: new Set() }
  const { id: _, meta, ...content } = sent.resourceType === 'Bundle' ? withoutEntryIdExtensions(sent) : sent
  const { id: __, meta: storedMeta, ...storedContent } = stored
  compareObjects(content, storedContent, walk)
  walk.steps.push('meta')
  compareMeta(meta ?? {}, storedMeta ?? {}, walk)
  return [...walk.found]
}

/** Labels and profiles are sets, to which a datastore may add. */
function compareMeta (sent: FhirElement, stored: FhirElement, walk: Walk): void {
  const { versionId, lastUpdated, source, profile, security, tag, ...content } = sent
  for (const name in content) compareMember(name, [content, stored], walk)
  const profiles = new Set(toList(stored.profile))
  if (!toList(profile).every(url => profiles.has(url))) report(walk, 'profile')
  for (const [name, labels] of [['security', security], ['tag', tag]] as const) {
    const labelsStored = new Set(toList(stored[name]).map(toLabelKey))
    if (!toList(labels).every(label => labelsStored.has(toLabelKey(label)))) report(walk, name)
  }
}

const toList = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []
const toLabelKey = (label: unknown): string =>
  JSON.stringify([(label as FhirElement).system, (label as FhirElement).code])

function compare (sent: unknown, stored: unknown, walk: Walk): void {
  if (sent === stored || walk.found.size >= maxIssues) return
  if (Array.isArray(sent) || Array.isArray(stored)) return compareLists(sent, stored, walk)
  if (isObject(sent) && isObject(stored)) return compareObjects(sent, stored, walk)
  if (!isSameValue(sent, stored, walk)) report(walk)
}

const isObject = (value: unknown): value is FhirElement =>
  value !== null && typeof value === 'object' && !(value instanceof ExactNumber)

function compareObjects (sent: FhirElement, stored: FhirElement, walk: Walk): void {
  for (const name in sent) compareMember(name, [sent, stored], walk)
  for (const name in stored) {
    if (Object.hasOwn(sent, name) || isAddedByServer(name, walk)) continue
    compareMember(name, [sent, stored], walk)
  }
}

function compareMember (name: string, [sent, stored]: readonly [FhirElement, FhirElement], walk: Walk): void {
  walk.steps.push(name)
  compare(sent[name], Object.hasOwn(stored, name) ? stored[name] : undefined, walk)
  walk.steps.pop()
}

/** One of them is a list. Nulls at its end, and a list of nothing else, have no meaning. */
function compareLists (sent: unknown, stored: unknown, walk: Walk): void {
  if ((!Array.isArray(sent) && !isNothing(sent)) || (!Array.isArray(stored) && !isNothing(stored))) return report(walk)
  const [one, other] = [toList(sent), toList(stored)]
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    walk.steps.push(at)
    compare(one[at] ?? undefined, other[at] ?? undefined, walk)
    walk.steps.pop()
  }
}

const isNothing = (value: unknown): boolean => value === undefined || value === null

function isAddedByServer (name: string, { sent, steps: [list, at, ...below] }: Walk): boolean {
  if (sent.resourceType !== 'Bundle' || list !== 'entry' || typeof at !== 'number') return false
  return name === 'fullUrl' && below.length === 0
}

function isSameValue (sent: unknown, stored: unknown, walk: Walk): boolean {
  if (isNothing(sent)) return isNothing(stored)
  if (isNumber(sent) && isNumber(stored)) return toNumberKey(String(sent)) === toNumberKey(String(stored))
  if (typeof sent !== 'string' || typeof stored !== 'string') return false
  const meant = walk.placeholders?.get(sent) ?? sent
  if (stored === meant || (walk.baseUrl !== undefined && stored === `${walk.baseUrl}/${meant}`)) return true
  const type = findElementType(walk)
  if (type === 'base64Binary') return sent.replaceAll(/\s/g, '') === stored.replaceAll(/\s/g, '')
  return type === 'xhtml' && isSameNarrative(sent, stored)
}

/** A decimal by its digits and the position of its point, in any notation: `12.0e1` has the key of `120`. */
function toNumberKey (text: string): string {
  const [, sign = '', full = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const digits = `${full}${fraction}`.replace(/^0+(?=\d)/, '')
  const scale = fraction.length - Number(exponent)
  return scale < 0 ? `${sign}${digits}${'0'.repeat(Math.min(-scale, 400))} 0` : `${sign}${digits} ${scale}`
}

/** The R4 type of the current element; undefined where R4 has none. It is looked up only for texts that differ. */
function findElementType ({ sent, steps }: Walk): string | undefined {
  let [type, value]: [string | undefined, unknown] = [sent.resourceType, sent]
  for (const step of steps) {
    value = (value as FhirElement | undefined)?.[step]
    if (typeof step === 'number') {
      if (type === 'Resource') type = (value as FhirResource).resourceType
      continue
    }
    type = step.startsWith('_') ? 'Element' : findElementDefinitions(type ?? '')?.get(step)?.type
    if (type === 'Resource' && isObject(value)) type = (value as FhirResource).resourceType
  }
  return type
}

/**
 * Space, entities, self-closing tags and the prefix of a namespace make no difference; an XML printer may preserve or
 * drop them.
 */
function isSameNarrative (sent: string, stored: string): boolean {
  const [one, other] = [sent, stored].map(normalizeNarrative)
  return one === other
}

function normalizeNarrative (text: string): string {
  return text
    .replace(/^\s*<\?xml[^<>]*\?>/, '')
    .replaceAll(/\sxmlns(?::[\w.-]+)?\s*=\s*(?:"[^"<>]*"|'[^'<>]*')/g, '')
    .replaceAll(/<(\/?)[\w.-]+:/g, '<$1')
    .replaceAll(/<[^<>]*>/g, tag => (tag.endsWith('/>') ? `${tag.slice(0, -2)}></${getTagName(tag)}>` : tag))
    .replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (_, hex, decimal, name) =>
      decodeEntity(hex, decimal, name)
    )
    .replaceAll(/'/g, '"')
    .replaceAll(/\s+|[\u0080-\uFFFF]/g, text => (/\s/.test(text) ? '' : '*'))
}

const getTagName = (tag: string): string => /^<([\w.-]*)/.exec(tag)![1]!

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: '"', nbsp: ' ' }

function decodeEntity (hex: string | undefined, decimal: string | undefined, name: string): string {
  const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal)
  // Other entity names represent one character each; the printer may use any of them.
  return Number.isNaN(code) ? entities[name] ?? '\u{FFFD}' : String.fromCodePoint(Math.min(code, 0x10FFFF))
}

function report ({ sent, steps, found }: Walk, ...below: readonly Step[]): void {
  found.add(printPath(sent.resourceType, [...steps, ...below]))
}
