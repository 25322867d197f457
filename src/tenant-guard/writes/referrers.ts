import type { Issue, Referrer, Referrers } from '../../envelope/failures.js'
import { listReferenceParametersTo, selectWidestParameters } from '../../mappings/r4/search-parameters.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { splitIntoChunks } from '../../json/chunks.js'
import { toReference } from '../access.js'
import { getCapabilities, hasSearchParameter } from '../capabilities.js'
import { parseMatches, searchInBatch } from '../reads/fetch-owned.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { getIdentityElements, restrict } from '../restrict.js'
import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { collectReferences } from './references.js'
import { getIncludedElements } from '../reads/includes.js'
import { reportForeign } from '../reads/own-matches.js'

const maxListed = 100
/** Records whose referrers are looked for at once, and the matches of each search. */
const maxPerLevel = 100
/** How far references are followed back: an order for a result for a specimen of a patient takes three. */
const maxLevels = 12
const recordsPerSearch = 50
const searchesPerBatch = 50

/**
 * The tenant's records that refer to a record, and those that refer to them, in an order in which they can be deleted.
 * They are found by the guard's own tagged searches, and each is shown only if its own reference leads there, so a
 * record of another tenant is neither listed nor counted. Only references that R4 has search parameters for are found.
 */
export async function findReferrers (context: TenantContext, target: string): Promise<Referrers> {
  const graph = new ReferrerGraph(target)
  const parameters = await fetchParametersInUse(context)
  let level: readonly string[] = [target]
  for (let depth = 0; level.length > 0 && depth < maxLevels; depth++) {
    level = await findLevel(context, { graph, parameters, level })
  }
  return graph.toDeletionOrder()
}

/** The same as issues; none where no record is found. */
export function toIssues ({ referrers, hasMore }: Referrers): readonly Issue[] {
  const named = referrers.map(({ type, id, cycle }) => ({
    diagnostics: `${type}/${id}: ${cycle ? 'delete it in one transaction with those it refers to' : 'delete it first'}.`
  }))
  const more = hasMore ? [{ diagnostics: 'There are more. Delete these, and send the request again.' }] : []
  return [...named, ...more].map(issue => ({ severity: 'error', code: 'conflict', ...issue }))
}

/** The referrers that were found, and the records that may have others. */
class ReferrerGraph {
  /** The records that refer to each one. */
  readonly #referrers = new Map<string, Set<string>>()
  readonly #open = new Set<string>()

  constructor (private readonly target: string) {
    this.#referrers.set(target, new Set())
  }

  has (record: string): boolean {
    return this.#referrers.has(record)
  }

  add (record: string): void {
    this.#referrers.set(record, new Set())
  }

  link (referrer: string, record: string): void {
    if (referrer !== record) this.#referrers.get(record)!.add(referrer)
  }

  /** Notes that a record has referrers that are not in the graph. */
  open (record: string): void {
    this.#open.add(record)
  }

  toDeletionOrder (): Referrers {
    const ordered: string[] = []
    const done = new Set<string>()
    const waiting = new Set([...this.#referrers.keys()].filter(record => record !== this.target))
    const isFree = (record: string): boolean =>
      !this.#open.has(record) && [...this.#referrers.get(record)!].every(referrer => done.has(referrer))
    for (let free = [...waiting].filter(isFree); free.length > 0; free = [...waiting].filter(isFree)) {
      for (const record of free) {
        ordered.push(record)
        done.add(record)
        waiting.delete(record)
      }
    }
    // The remaining records refer to each other, unless an unknown record refers to them.
    const cycle = this.#open.size === 0 ? [...waiting] : []
    const inCycle = cycle.map(record => ({ ...toReferrer(record), cycle: true as const }))
    const listed: Referrer[] = [...ordered.map(toReferrer), ...inCycle]
    return {
      referrers: listed.slice(0, maxListed),
      hasMore: listed.length > maxListed || this.#open.size > 0
    }
  }
}

function toReferrer (record: string): { readonly type: string; readonly id: string } {
  const [type, id] = record.split('/') as [string, string]
  return { type, id }
}

/** A search parameter by which a type refers to others. */
interface LeadingParameter {
  readonly from: string
  readonly name: string
  readonly targets: ReadonlySet<string>
}

/** The search parameters that follow references from types of which the tenant has records. */
async function fetchParametersInUse (context: TenantContext): Promise<readonly LeadingParameter[]> {
  const stated = await getCapabilities(context.backend, request => sendRequest(context, request))
  // A stored Bundle refers to nothing: it holds records, of which a search would fetch all.
  const types = stated.types.filter(type => isTenantType(type) && type !== 'Bundle')
  const requests = types.map(type =>
    restrict({ type, parameters: [], count: 1, total: 'none', shape: getIdentityElements(type) }, context.tenant)
  )
  const matches = await searchAll(context, requests, 1)
  return types
    .filter((type, at) => filterOwnMatches(context, type, matches[at]!).length > 0)
    .flatMap(from => getLeadingParameters(from).filter(({ name }) => hasSearchParameter(stated, from, name)))
}

const leading = new Map<string, readonly LeadingParameter[]>()

function getLeadingParameters (from: string): readonly LeadingParameter[] {
  const known = leading.get(from)
  if (known !== undefined) return known
  const targetsByName = new Map<string, Set<string>>()
  for (const type of [...resourceTypes].filter(isTenantType)) {
    for (const name of selectWidestParameters(from, listReferenceParametersTo(from, type))) {
      targetsByName.set(name, (targetsByName.get(name) ?? new Set()).add(type))
    }
  }
  const parameters = [...targetsByName].map(([name, targets]) => ({ from, name, targets }))
  leading.set(from, parameters)
  return parameters
}

interface Level {
  readonly graph: ReferrerGraph
  readonly parameters: readonly LeadingParameter[]
  readonly level: readonly string[]
}

/** Adds what refers to the records of a level. @returns the records that are new, the next level */
async function findLevel (context: TenantContext, { graph, parameters, level }: Level): Promise<readonly string[]> {
  const searches = parameters.flatMap(parameter => {
    const records = level.filter(record => parameter.targets.has(record.split('/', 1)[0]!))
    return splitIntoChunks(records, recordsPerSearch).map(chunk => ({ parameter, records: chunk }))
  })
  const requests = searches.map(({ parameter: { from, name }, records }) => {
    const shape = getIdentityElements(from, getIncludedElements(from, name))
    const parameters = [[name, records.join(',')]] as const
    return restrict({ type: from, parameters, count: maxPerLevel, total: 'none', shape }, context.tenant)
  })
  const responses = await searchAll(context, requests, maxPerLevel)
  const next: string[] = []
  for (const [at, { parameter: { from }, records }] of searches.entries()) {
    const found = responses[at]!
    if (found.length >= maxPerLevel) for (const record of records) graph.open(record)
    for (const match of filterOwnMatches(context, from, found)) {
      const referrer = toReference(match)
      const named = new Set(collectReferences(match, [context.backend.baseUrl]).map(({ record }) => record))
      for (const record of records.filter(record => named.has(record) && record !== referrer)) {
        if (!graph.has(referrer)) {
          if (next.length >= maxPerLevel) {
            graph.open(record)
            continue
          }
          graph.add(referrer)
          next.push(referrer)
        }
        graph.link(referrer, record)
      }
    }
  }
  return next
}

/** The matches of each search. */
async function searchAll (
  context: TenantContext,
  requests: ReadonlyArray<ReturnType<typeof restrict>>,
  maxMatches: number
): Promise<ReadonlyArray<readonly unknown[]>> {
  const matches: Array<readonly unknown[]> = []
  for (const batch of splitIntoChunks(requests, searchesPerBatch)) {
    matches.push(...(await searchInBatch(context, batch, maxMatches)).map(parseMatches))
  }
  return matches
}

function filterOwnMatches (context: TenantContext, type: string, matches: readonly unknown[]): StoredResource[] {
  reportForeign(context, type, matches)
  return matches
    .map(match => verifyAndRememberOwned(context, match, { type }))
    .filter(record => record !== undefined)
}
