import { Failure } from '../../envelope/failures.js'
import { escapeSearchValue, splitUnescaped, unescapeSearchValue } from '../../fhir/search-escaping.js'
import type { BundleEntry, SearchParameter, Criteria } from '../interaction.js'
import { BundleReferences } from './bundle-references.js'
import { withEntryPath } from './entry-path.js'
import type { TenantContext } from '../tenant-context.js'
import { mapConcurrently } from '../map-concurrently.js'
import type { ReferenceReason } from '../writes/references.js'
import { findSingleMatch } from '../writes/single-match.js'
import type { Write } from './transaction-writes.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { findSearchParameter } from '../../mappings/r4/search-parameters.js'

/**
 * The entries with each fullUrl in their criteria replaced by the record that it identifies:
 * http://hl7.org/fhir/R4/http.html#trules
 * @throws {Failure} BAD_REQUEST for criteria that refer to a record that the transaction creates: no stored record can
 * meet them
 */
export function resolveCriteriaPlaceholders (
  entries: readonly BundleEntry[],
  backendUrl: string
): readonly BundleEntry[] {
  if (!entries.some(({ interaction }) => 'criteria' in interaction)) return entries
  const bundle = new BundleReferences(entries, backendUrl)
  return entries.map((entry, at) => {
    const { interaction } = entry
    if (!('criteria' in interaction)) return entry
    const parameters = interaction.criteria.parameters.map(([name, value]): SearchParameter => [
      name,
      splitUnescaped(value, ',')
        .map(one => toRecord(unescapeSearchValue(one), { entries, bundle, at }) ?? one)
        .join(',')
    ])
    return { ...entry, interaction: { ...interaction, criteria: { ...interaction.criteria, parameters } } }
  })
}

interface Position { readonly entries: readonly BundleEntry[], readonly bundle: BundleReferences, readonly at: number }

/** @returns undefined for a value that is no fullUrl of an entry */
function toRecord (value: string, { entries, bundle, at }: Position): string | undefined {
  const target = bundle.findPlaceholder(value)
  if (target === undefined) return undefined
  const { interaction } = entries[target]!
  if ('id' in interaction && interaction.id !== undefined) return escapeSearchValue(`${interaction.type}/${interaction.id}`)
  throw withEntryPath(
    new Failure('BAD_REQUEST', {
      message:
        'Criteria cannot refer to a record that the same transaction creates, since no stored record can meet them. Use an identifier, or create the record without criteria.'
    }),
    [at]
  )
}

/** The target of criteria in place of an id: a stored record, the entry at a position, or none for a reason. */
export type CriteriaTarget =
  { readonly record: string } | { readonly at: number } | { readonly reason: ReferenceReason }

/**
 * The target of each conditional reference once creates, updates and deletes are done, in the order that R4 requires:
 * http://hl7.org/fhir/R4/http.html#trules
 * @returns by the text of the reference
 */
export async function resolveCriteria (
  context: TenantContext, writes: ReadonlyArray<Write | undefined>, references: ReadonlyMap<string, Criteria>
): Promise<ReadonlyMap<string, CriteriaTarget>> {
  const resolved = await mapConcurrently(
    [...references],
    async ([text, criteria]) => [text, await resolve(context, writes, criteria)] as const
  )
  return new Map(resolved)
}

async function resolve (
  context: TenantContext,
  writes: ReadonlyArray<Write | undefined>,
  criteria: Criteria
): Promise<CriteriaTarget> {
  const { type, parameters } = criteria
  const changed = new Map(
    writes.flatMap(write => (write?.type === type && write.id !== undefined ? [[write.id, write]] : []))
  )
  const meets = (write: Write): boolean | undefined =>
    write.resource === undefined ? false : meetsCriteria(write.resource, type, parameters)
  const found = await findStored(context, criteria)
  if (found === 'several') return { reason: 'severalMatch' }
  const targets = new Set<string | number>()
  // A record that the transaction changes or deletes counts by its state after it.
  if (found !== undefined && (!changed.has(found) || meets(changed.get(found)!) !== false)) {
    targets.add(`${type}/${found}`)
  }
  for (const [at, write] of writes.entries()) {
    if (write?.type !== type || meets(write) !== true) continue
    targets.add(
      write.id !== undefined ? `${type}/${write.id}` : ((await findExisting(context, write)) ?? write.sameAs ?? at)
    )
  }
  const [target, ...more] = targets
  if (more.length > 0) return { reason: 'severalMatch' }
  if (target === undefined) return { reason: 'noMatch' }
  return typeof target === 'number' ? { at: target } : { record: target }
}

/** The record that a conditional create finds in place of creating one. */
async function findExisting (context: TenantContext, { type, criteria }: Write): Promise<string | undefined> {
  if (criteria === undefined) return undefined
  const found = await findStored(context, criteria)
  return found === undefined || found === 'several' ? undefined : `${type}/${found}`
}

async function findStored (context: TenantContext, criteria: Criteria): Promise<string | undefined> {
  try {
    return (await findSingleMatch(context, criteria))?.id
  } catch (error) {
    if (error instanceof Failure && error.code === 'PRECONDITION_FAILED') return 'several'
    throw error
  }
}

/**
 * Whether a resource that is not stored yet meets criteria, where that can be decided here: by tokens, such as an
 * identifier, and uris in elements without conditions of their own.
 * @returns undefined where only a datastore can decide
 */
function meetsCriteria (
  resource: FhirElement,
  type: string,
  parameters: readonly SearchParameter[]
): boolean | undefined {
  if (resource.resourceType !== type) return false
  const results = parameters.map(([name, value]) => meetsParameter(resource, type, [name, value]))
  if (results.includes(false)) return false
  return results.includes(undefined) ? undefined : true
}

function meetsParameter (resource: FhirElement, type: string, [name, value]: SearchParameter): boolean | undefined {
  const { kind, expression = '' } = findSearchParameter(type, name) ?? {}
  const paths = expression
    .split(' | ')
    .map(path => (/^[A-Z]\w*(?:\.\w+)+$/.test(path) ? path.split('.').slice(1) : undefined))
  if ((kind !== 'token' && kind !== 'uri') || paths.includes(undefined)) return undefined
  const found = paths.flatMap(path => collectValues([resource], path!))
  return splitUnescaped(value, ',').some(one =>
    found.some(item => (kind === 'uri' ? item === unescapeSearchValue(one) : hasToken(item, one)))
  )
}

function collectValues (holders: readonly unknown[], [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [...holders]
  const next = holders
    .flatMap(holder => (isElement(holder) ? [holder[name]].flat() : []))
    .filter(value => value !== undefined)
  return collectValues(next, rest)
}

/** `system|code`, `|code`, `code` or `system|` on a code, Coding, CodeableConcept, Identifier or ContactPoint. */
function hasToken (item: unknown, token: string): boolean {
  const [first = '', second] = splitUnescaped(token, '|').map(unescapeSearchValue)
  if (!isElement(item)) return String(item) === (second ?? first)
  if (Array.isArray(item.coding)) return item.coding.some(coding => hasToken(coding, token))
  const code = item.code ?? item.value
  if (second === undefined) return code === first
  return (first === '' ? item.system === undefined : item.system === first) && (second === '' || code === second)
}
