import { isUtf8 } from 'node:buffer'
import { Failure } from '../../envelope/failures.js'
import { parseStored, printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { verifyOwned } from '../verify-owned.js'
import { reportIncident, type TenantContext } from '../tenant-context.js'
import { rewriteUrls, toUnambiguousJson } from '../public-urls.js'
import { isId } from '../../fhir/names.js'
import type { Line } from './position.js'
import type { TypeSearch } from './searches.js'

/** No larger record can be read one by one either. */
const maxLine = 64 * 1024 * 1024

/**
 * The lines of NDJSON, as many at a time as are there; empty ones are left out.
 * @throws {Failure} BACKEND_ERROR
 */
export async function * readLineBatches (body: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    const end = chunk.lastIndexOf(0x0a)
    begun.push(end < 0 ? chunk : chunk.subarray(0, end))
    length += begun.at(-1)!.length
    if (length > maxLine) throw unreadable('a line of an export is too long')
    if (end < 0) continue
    yield decodeLines(begun)
    begun = [chunk.subarray(end + 1)]
    length = begun[0]!.length
  }
  yield decodeLines(begun)
}

function decodeLines (segments: readonly Buffer[]): string[] {
  const bytes = segments.length === 1 ? segments[0]! : Buffer.concat(segments)
  if (!isUtf8(bytes)) throw unreadable('an export is not UTF-8')
  return bytes.toString().split('\n').filter(text => text.trim() !== '')
}

function unreadable (reason: string): Failure {
  return new Failure('BACKEND_ERROR', { cause: { reason } })
}

/**
 * The records of an export that are wanted, in the datastore's own text. Each is checked as every response is: records
 * of others are reported and left out, so that the export is the one of a datastore without them.
 * @throws {Failure} BACKEND_ERROR for a line that is no record of the type
 */
export function parseOwnedLines (
  context: TenantContext, { type, isSelected }: TypeSearch, read: readonly string[]
): Line[] {
  const texts = read.map(text => context.backend.normalize(text))
  const records = texts.map(parseLine)
  if (!records.every(record => isRecord(record, type))) throw unreadable('a line of an export is no record of its type')
  const own = new Set(filterOwnedRecords(context, type, records))
  return texts.flatMap((text, at) =>
    !own.has(records[at]) || isSelected?.(records[at] as FhirResource) === false ? [] : [toLine(context, text)]
  )
}

function parseLine (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable('a line of an export is not JSON')
  }
}

function toLine (context: TenantContext, text: string): Line {
  // A line may end with a carriage return.
  const publicText = rewriteUrls(context, toUnambiguousJson(text.trimEnd()))
  return { text: publicText, exact: () => parseStored(publicText) }
}

/** The same of records that were read already. */
export function toOwnedLines (
  context: TenantContext,
  { type, isSelected }: TypeSearch,
  records: readonly StoredResource[]
): Line[] {
  return filterOwnedRecords(context, type, records).flatMap(record =>
    isSelected?.(record) === false ? [] : [toLine(context, printJson(record))]
  )
}

function isRecord (value: unknown, type: string): boolean {
  const { resourceType, id } = (value ?? {}) as Partial<StoredResource>
  return resourceType === type && isId(id)
}

function filterOwnedRecords<R> (context: TenantContext, type: string, records: readonly R[]): readonly R[] {
  const own = records.filter(record => verifyOwned(record, { type, tenant: context.tenant }) !== undefined)
  if (own.length < records.length) {
    reportIncident(context, {
      kind: 'foreign-match',
      interaction: 'export',
      type,
      records: records.length - own.length
    })
  }
  return own
}
