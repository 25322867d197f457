import { sendRequest, type TenantContext } from '../tenant-context.js'
import { restrict } from '../restrict.js'
import { scanChunks, type ScanChunk, type ScanPosition } from '../reads/scan.js'
import { linesFrom } from './lines.js'
import { mergeSorted } from './merged.js'
import { isExportable } from './native-export.js'
import type { ExportPosition, ExportChunk } from './position.js'
import type { Conditions, TypeSearch } from './searches.js'

/** What an export is taken from. */
export interface SearchExportOptions {
  readonly context: TenantContext
  readonly searches: readonly TypeSearch[]
  readonly since: string | undefined
  readonly signal: AbortSignal
}

/** The records of those types that the datastore's native export does not hold, by tagged searches. */
export async function * searchChunks (taking: SearchExportOptions, begun: ExportPosition): AsyncGenerator<ExportChunk> {
  const searches = taking.searches.filter(search => begun.own === undefined || !isExportable(search))
  let { after } = begun
  for (const [at, search] of searches.entries()) {
    if (at < begun.walked) continue
    yield * chunksOf(taking, search, { ...begun, walked: at, after })
    after = undefined
    const { after: _, ...position } = begun
    yield { lines: [], position: { ...position, walked: at + 1 } }
  }
}

async function * chunksOf (
  { context, since, signal }: SearchExportOptions,
  search: TypeSearch,
  begun: ExportPosition
): AsyncGenerator<ExportChunk> {
  const { type } = search
  const start = { after: begun.after, from: since }
  const asOf = Date.parse(begun.asOf)
  for await (const { records, upTo } of once(
    mergeSorted(search.searches.map(conditions => scanChunks(getPosition(context, type, conditions), start)))
  )) {
    signal.throwIfAborted()
    const late = records.filter(({ meta }) => Date.parse(meta.lastUpdated!) >= asOf)
    const position = upTo === undefined ? {} : { position: { ...begun, after: upTo } }
    if (late.length === 0) {
      yield { type, lines: linesFrom(context, search, records), ...position }
    } else {
      yield {
        type,
        lines: linesFrom(
          context,
          search,
          records.filter(record => !late.includes(record))
        )
      }
      yield { type, lines: linesFrom(context, search, late), isLate: true, ...position }
    }
  }
}

/** Without what comes again when an instant has to be requested in smaller pages. */
async function * once (walk: AsyncGenerator<ScanChunk>): AsyncGenerator<ScanChunk> {
  let met = new Set<string>()
  for await (const { records, upTo } of walk) {
    yield { records: records.filter(({ id }) => !met.has(id)), upTo }
    if (upTo !== undefined) met = new Set()
    else for (const { id } of records) met.add(id)
  }
}

function getPosition (context: TenantContext, type: string, conditions: Conditions): ScanPosition {
  return {
    send: request => sendRequest(context, request),
    baseUrl: context.backend.baseUrl,
    type,
    searching: (parameters, count) =>
      restrict({ type, parameters: [...conditions, ...parameters], count, total: 'none' }, context.tenant)
  }
}
