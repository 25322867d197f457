import { randomUUID } from 'node:crypto'
import { Failure } from '../../envelope/failures.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { findReferenceTargets } from '../../mappings/r4/elements.js'
import { getOwnershipScope, type TenantContext } from '../tenant-context.js'
import type { BundleEntry, Transaction } from '../interaction.js'
import { filterOwned } from '../reads/fetch-owned.js'
import { mapLinks } from '../writes/own-references.js'
import {
  collectReferences,
  ReferenceFailure,
  collectRecords,
  type ReferenceSite,
  type RejectedReference
} from '../writes/references.js'
import { BundleReferences, getSentReference } from './bundle-references.js'
import { resolveCriteria, type CriteriaTarget } from './criteria.js'
import { toEntryPath } from './entry-path.js'
import type { Write } from './transaction-writes.js'

type Writes = ReadonlyArray<Write | undefined>

/** Writes whose references were resolved and checked. */
interface CheckedWrites {
  readonly writes: Writes
  /** Records that they refer to, taken for the tenant's without a look-up. */
  readonly believed: readonly string[]
}

/**
 * The writes with every reference by id: to another entry by its fullUrl, to the one record or entry that meets
 * criteria, or to a record of the tenant. An entry whose id is not known before it is written has a placeholder of the
 * gateway's own, which the datastore replaces in References; where anything else leads to it, the gateway chooses its
 * id.
 * @throws {ReferenceFailure} with the paths of all that lead elsewhere
 * @throws {Failure} CONFLICT for a reference to a record that the transaction deletes
 */
export async function resolveReferences (
  context: TenantContext,
  writes: Writes,
  { entries, references }: Transaction
): Promise<CheckedWrites> {
  const found = await resolveCriteria(context, writes, references)
  const links = writes.flatMap((write, at) =>
    write?.resource === undefined
      ? []
      : collectReferences(write.resource, [context.backend.baseUrl], context.fhirBase).map(link => ({ ...link, at }))
  )
  const targets = new Targets(entries, writes, context.backend.baseUrl)
  const plan = links.map(each => ({ ...each, target: targets.find(each, found) }))
  for (const each of plan) targets.chooseIdFor(each)
  for (const [at, write] of writes.entries()) targets.choosePlaceholderIds(write?.resource, at)
  const resolved = targets.resolve(plan)

  const outside = plan
    .filter(({ target }) => typeof target !== 'number')
    .map(({ at, path, reference, record, target }) => {
      const stored =
        typeof target === 'object' && 'record' in target
          ? { reference: target.record, record: target.record }
          : { reference, record }
      return {
        ...stored,
        path: toEntryPath(path, at),
        ...(typeof target === 'object' && 'reason' in target && { reason: target.reason })
      }
    })
  const records = collectRecords(outside)
  const deleted = new Set(
    writes.flatMap(write => (write?.request?.method === 'DELETE' ? [`${write.type}/${write.id}`] : []))
  )
  const dangling = [
    ...outside.filter(({ record }) => record !== undefined && deleted.has(record)),
    ...targets.findDeletedTargets(plan)
  ]
  if (dangling.length > 0) throw deletedTarget(dangling.map(({ path }) => path))
  const believed = [...records].filter(record => context.ownership.isKnown(getOwnershipScope(context), record))
  const owned = await filterOwned(context, records)
  const refused: RejectedReference[] = [
    ...outside.filter(({ record, reason }) => reason !== undefined || record === undefined || !owned.has(record)),
    ...targets.refused
  ]
  if (refused.length > 0) throw toReferenceFailure(refused)
  return { writes: resolved, believed }
}

/** Criteria that several records meet are a failed precondition, as in the URL of a request. */
function toReferenceFailure (refused: readonly RejectedReference[]): Failure {
  const failure = new ReferenceFailure(refused)
  if (refused.some(({ reason }) => reason !== 'severalMatch')) return failure
  return new Failure('PRECONDITION_FAILED', {
    message: failure.message,
    issues: failure.issues.map(issue => ({ ...issue, code: 'multiple-matches' }))
  })
}

function deletedTarget (paths: readonly string[]): Failure {
  const message = 'Nothing was done: a reference leads to a record that the same transaction deletes.'
  return new Failure('CONFLICT', {
    message,
    issues: paths.map(
      path => ({ severity: 'error', code: 'conflict', diagnostics: message, expression: [path] }) as const
    )
  })
}

interface EntryReference extends ReferenceSite { readonly at: number }

/**
 * The target of a link: the entry at a position, or the record that criteria found; undefined if the Bundle does not
 * determine it.
 */
interface PlannedReference extends EntryReference { readonly target: number | CriteriaTarget | undefined }

/** The entries as what other entries refer to. */
class Targets {
  readonly #bundle: BundleReferences
  /** Most Bundles have none, and their resources need not be walked for them. */
  readonly #hasPlaceholders: boolean
  readonly #entries: readonly BundleEntry[]
  readonly #writes: Array<Write | undefined>
  /** Links that cannot be resolved, regardless of the stored records. */
  readonly refused: RejectedReference[] = []

  constructor (entries: readonly BundleEntry[], writes: Writes, backendUrl: string) {
    this.#entries = entries
    this.#writes = [...writes]
    this.#bundle = new BundleReferences(
      entries.map((entry, at) => ({
        fullUrl: entry.fullUrl,
        sentAs: getSentReference(entry),
        storedAs: this.#findStoredReference(at)
      })),
      backendUrl
    )
    this.#hasPlaceholders = this.#bundle.hasPlaceholders
  }

  find (
    { reference, at }: EntryReference,
    found: ReadonlyMap<string, CriteriaTarget>
  ): number | CriteriaTarget | undefined {
    const criteria = found.get(reference)
    if (criteria !== undefined) return 'at' in criteria ? criteria.at : criteria
    const target = this.#bundle.find(reference, at)
    return target === 'ambiguous' ? { reason: 'ambiguous' } : target
  }

  /** Chooses the id of the entry of a uri, and of one that refers to itself: there HAPI replaces nothing, or fails. */
  chooseIdFor ({ isUri, target, at, path, reference }: PlannedReference): void {
    if (typeof target !== 'number' || (isUri !== true && target !== at)) return
    const isKnown = this.chooseId(target)
    if (!isKnown && isUri !== true) this.refused.push({ path: toEntryPath(path, at), reference, reason: 'itself' })
  }

  /** Chooses the ids of entries that placeholders outside of References lead to: in uris and in the narrative. */
  choosePlaceholderIds (resource: FhirResource | undefined, at: number): void {
    if (resource === undefined || resource.resourceType === 'Bundle' || !this.#hasPlaceholders) return
    const refused = new Set<string>()
    const choosePlaceholderId = (url: string): string => {
      const target = this.#bundle.findPlaceholder(url)
      if (target !== undefined && !this.chooseId(target)) refused.add(url)
      return url
    }
    mapLinks(resource, (text, kind) =>
      kind === 'reference'
        ? text
        : kind === 'xhtml'
          ? mapNarrativeLinks(text, choosePlaceholderId)
          : choosePlaceholderId(text)
    )
    for (const reference of refused) {
      this.refused.push({ path: `Bundle.entry[${at}].resource`, reference, reason: 'conditional' })
    }
  }

  /** @returns whether the id of the entry's record is known from now on */
  chooseId (at: number): boolean {
    const write = this.#writes[this.#getSentPosition(at)]
    if (this.#findStoredReference(at) !== undefined) return true
    if (write?.resource === undefined || write.request?.ifNoneExist !== undefined) return false
    const id = randomUUID()
    this.#writes[at] = {
      ...write,
      id,
      resource: { ...write.resource, id },
      request: { method: 'PUT', url: `${write.type}/${id}` }
    }
    return true
  }

  resolve (plan: readonly PlannedReference[]): Writes {
    const texts = this.#writes.map(() => new Map<string, string>())
    for (const { at, reference, target, isUri, path } of plan) {
      const text =
        typeof target === 'number'
          ? this.#toReference(target)
          : typeof target === 'object' && 'record' in target
            ? target.record
            : undefined
      if (
        typeof target === 'number' &&
        findReferenceTargets(path)?.includes(this.#writes[target]?.type ?? '') === false
      ) {
        this.refused.push({ path: toEntryPath(path, at), reference, reason: 'targetType' })
      }
      if (text !== undefined) texts[at]!.set(reference, text)
      if (isUri === true && text?.startsWith('urn:') === true) {
        this.refused.push({ path: toEntryPath(path, at), reference, reason: 'conditional' })
      }
    }
    for (const [at, write] of this.#writes.entries()) {
      if (write?.resource === undefined || write.resource.resourceType === 'Bundle') continue
      const replace = (url: string): string => {
        const target = this.#bundle.findPlaceholder(url)
        return target === undefined ? url : (this.#toReference(target) ?? url)
      }
      const own = texts[at]!
      if (own.size === 0 && !this.#hasPlaceholders) continue
      mapLinks(
        write.resource,
        (text, kind) =>
          own.get(text) ??
          (kind === 'reference' ? text : kind === 'xhtml' ? mapNarrativeLinks(text, replace) : replace(text))
      )
    }
    return this.#writes
  }

  /** Links to entries that delete their record. */
  findDeletedTargets (plan: readonly PlannedReference[]): ReadonlyArray<{ readonly path: string }> {
    return plan
      .filter(({ target }) => typeof target === 'number' && this.#writes[target]?.request?.method === 'DELETE')
      .map(({ path, at }) => ({ path: toEntryPath(path, at) }))
  }

  #toReference (at: number): string | undefined {
    const sent = this.#getSentPosition(at)
    const stored = this.#findStoredReference(at)
    const write = this.#writes[sent]
    if (stored !== undefined || write?.resource === undefined) return stored
    const placeholder = write.placeholder ?? `urn:uuid:${randomUUID()}`
    this.#writes[sent] = { ...write, placeholder }
    return placeholder
  }

  /** The position of the entry that is sent for this one: another one with the same content and criteria, perhaps. */
  #getSentPosition (at: number): number {
    return this.#writes[at]?.sameAs ?? at
  }

  #findStoredReference (at: number): string | undefined {
    const sent = this.#getSentPosition(at)
    const { interaction } = this.#entries[sent]!
    const id = this.#writes[sent]?.id ?? ('id' in interaction ? interaction.id : undefined)
    return id === undefined ? undefined : `${interaction.type}/${id}`
  }
}

const narrativeLink = /(\s(?:href|src)\s*=\s*)(?:"([^"]*)"|'([^']*)')/gi
const entity = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi
const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * XHTML with the values of `href` and `src` mapped: http://hl7.org/fhir/R4/http.html#trules. A value is mapped as what
 * it means, without entities; one that stays the same keeps its notation.
 */
function mapNarrativeLinks (div: string, map: (url: string) => string): string {
  return div.replace(narrativeLink, (attribute, name: string, double?: string, single?: string) => {
    const url = (double ?? single)!.replace(entity, decodeEntity)
    const mapped = map(url)
    return mapped === url ? attribute : `${name}"${escapeAttribute(mapped)}"`
  })
}

function decodeEntity (text: string, ...[hex, decimal, name]: ReadonlyArray<string | undefined>): string {
  if (name !== undefined) return characters[name.toLowerCase()]!
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code <= 0x10FFFF ? String.fromCodePoint(code) : text
}

const escapeAttribute = (url: string): string =>
  url.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
