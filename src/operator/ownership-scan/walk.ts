import type { StoredResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { scanChunks, type ScanPosition } from '../../tenant-guard/reads/scan.js'
import { encodeParameters } from '../../tenant-guard/restrict.js'

/** What an operator walks over: the records of one type, whosever they are. */
interface OperatorScope extends Omit<ScanPosition, 'searching'> {
  /** Conditions beyond the type. */
  readonly criteria?: readonly SearchParameter[]
}

/**
 * Every record of a type that is there all the while, at least once, a page at a time; for operators only, as no tag
 * restricts it.
 */
export async function * scanAll ({ criteria = [], ...path }: OperatorScope): AsyncGenerator<readonly StoredResource[]> {
  const searching: ScanPosition['searching'] = (parameters, count) => ({
    method: 'GET',
    path: `${path.type}?${encodeParameters([...criteria, ...parameters, ['_count', String(count)], ['_total', 'none']])}`
  })
  for await (const { records } of scanChunks({ ...path, searching })) yield records
}
