import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { fetchRecords, onePage, scanChunks, type ScanPosition } from '../../tenant-guard/reads/scan.js'
import { encodeParameters } from '../../tenant-guard/restrict.js'

/** The scope of an operator's scan: the records of one type, of all tenants. */
interface OperatorScope extends Omit<ScanPosition, 'searching'> {
  /** Conditions beyond the type. */
  readonly criteria?: readonly SearchParameter[]
}

/**
 * Every record of a type that is there all the while, at least once, a page at a time; for operators only, as no tag
 * restricts it. Call {@link requireOrder} first.
 */
export async function * scanAll ({ criteria = [], ...path }: OperatorScope): AsyncGenerator<readonly StoredResource[]> {
  const searching: ScanPosition['searching'] = (parameters, count) => ({
    method: 'GET',
    path: `${path.type}?${encodeParameters([...criteria, ...parameters, ['_count', String(count)], ['_total', 'none']])}`
  })
  for await (const { records } of scanChunks({ ...path, searching })) yield records
}

type Direction = '' | '-'

/**
 * Requires that no record precedes the first one in either direction. A page whose records changed in the same instant
 * looks sorted on every server, so the pages alone are no proof.
 * @throws {Failure} BACKEND_ERROR if the datastore ignores the order or the limits of a search: records would be missed
 */
export async function requireOrder (path: Omit<OperatorScope, 'pageSize'>): Promise<void> {
  await requireEnd(path, '')
  await requireEnd(path, '-')
}

/** A record that is changed meanwhile becomes the newest, so the newest one is looked for again. */
const maxAttempts = 5

async function requireEnd (path: Omit<OperatorScope, 'pageSize'>, direction: Direction): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const end = await firstOf(path, ['_sort', `${direction}_lastUpdated`])
    if (end === undefined) return
    const beyond = await firstOf(path, ['_lastUpdated', `${direction === '' ? 'lt' : 'gt'}${end}`])
    if (beyond === undefined) return
    const difference = (Date.parse(beyond) - Date.parse(end)) * (direction === '' ? -1 : 1)
    // A datastore may store times finer than it shows them.
    if (difference === 0 && direction === '-') return
    if (difference > 0 && direction === '-' && attempt < maxAttempts) continue
    const parameter = difference > 0 ? '_sort' : '_lastUpdated'
    throw new Failure('BACKEND_ERROR', {
      message: `The datastore ignores ${parameter} in a search of ${path.type}, so records would be missed. Run clinigate doctor.`,
      cause: { reason: `a search ignores ${parameter}` }
    })
  }
}

/** The time of the last change of the first record that a search finds. */
async function firstOf (
  path: Omit<OperatorScope, 'pageSize'>,
  parameter: SearchParameter
): Promise<string | undefined> {
  const { criteria = [] } = path
  const query = encodeParameters([...criteria, parameter, ['_count', '1'], ['_total', 'none']])
  const { records } = await fetchRecords(path, { method: 'GET', path: `${path.type}?${query}` }, onePage(1))
  return records[0]?.meta.lastUpdated
}
