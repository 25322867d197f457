import { sendRequest, type TenantContext } from '../tenant-context.js'
import { restrict } from '../restrict.js'
import { scanChunks, type ScanChunk, type ScanPosition } from '../reads/scan.js'
import { toOwnedLines } from './lines.js'
import { isExportable } from './native-export.js'
import type { ExportPosition, ExportChunk } from './position.js'
import type { Conditions, TypeSearch } from './searches.js'
import type { StoredResource } from '../../mappings/fhir.js'

/** The options of an export by searches. */
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
    yield * readTypeChunks(taking, search, { ...begun, walked: at, after })
    after = undefined
    const { after: _, ...position } = begun
    yield { lines: [], position: { ...position, walked: at + 1 } }
  }
}

async function * readTypeChunks (
  { context, since, signal }: SearchExportOptions,
  search: TypeSearch,
  begun: ExportPosition
): AsyncGenerator<ExportChunk> {
  const { type } = search
  const start = { after: begun.after, from: since }
  const asOf = Date.parse(begun.asOf)
  for await (const { records, upTo } of withoutRepeats(
    mergeSorted(search.searches.map(conditions => scanChunks(getPosition(context, type, conditions), start)))
  )) {
    signal.throwIfAborted()
    const changedMeanwhile = records.filter(({ meta }) => Date.parse(meta.lastUpdated!) >= asOf)
    const position = upTo === undefined ? {} : { position: { ...begun, after: upTo } }
    if (changedMeanwhile.length === 0) {
      yield { type, lines: toOwnedLines(context, search, records), ...position }
    } else {
      yield {
        type,
        lines: toOwnedLines(
          context,
          search,
          records.filter(record => !changedMeanwhile.includes(record))
        )
      }
      yield { type, lines: toOwnedLines(context, search, changedMeanwhile), isLate: true, ...position }
    }
  }
}

/** Without what comes again when an instant has to be requested in smaller pages. */
async function * withoutRepeats (walk: AsyncGenerator<ScanChunk>): AsyncGenerator<ScanChunk> {
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
    buildSearch: (parameters, count) =>
      restrict({ type, parameters: [...conditions, ...parameters], count, total: 'none' }, context.tenant)
  }
}

/**
 * Merges several scans of one type by the time of the last change. A record that several of them find is exported once,
 * because all find it at the time of its change: only the records of one instant need be remembered.
 */
export async function * mergeSorted (walks: ReadonlyArray<AsyncGenerator<ScanChunk>>): AsyncGenerator<ScanChunk> {
  if (walks.length === 1) return yield * walks[0]!
  const heads = walks.map(walk => new Head(walk))
  try {
    for (;;) {
      const times = (await Promise.all(heads.map(head => head.peekTime()))).filter(time => time !== undefined)
      if (times.length === 0) return
      const instant = Math.min(...times)
      const met = new Map<string, StoredResource>()
      for (const head of heads) {
        for (const record of await head.takeAt(instant)) met.set(record.id, record)
      }
      const records = [...met.values()]
      yield { records, upTo: getLatestChange(records) }
    }
  } finally {
    await Promise.all(walks.map(walk => walk.return(undefined)))
  }
}

/** A datastore may return times finer than milliseconds. */
function getLatestChange (records: readonly StoredResource[]): string {
  return records.map(({ meta }) => meta.lastUpdated!).reduce((last, time) => time > last ? time : last)
}

/** The next records of one scan. */
class Head {
  #records: StoredResource[] = []

  constructor (private readonly walk: AsyncGenerator<ScanChunk>) {}

  /** Of the next record, in milliseconds; undefined at the end. */
  async peekTime (): Promise<number | undefined> {
    while (this.#records.length === 0) {
      const { value, done } = await this.walk.next()
      if (done === true) return undefined
      this.#records = value.records.toReversed()
    }
    return getChangeTime(this.#records.at(-1)!)
  }

  async takeAt (instant: number): Promise<StoredResource[]> {
    const taken: StoredResource[] = []
    while (await this.peekTime() === instant) taken.push(this.#records.pop()!)
    return taken
  }
}

const getChangeTime = ({ meta }: StoredResource): number => Date.parse(meta.lastUpdated!)
