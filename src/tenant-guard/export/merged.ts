import type { StoredResource } from '../../mappings/fhir.js'
import type { ScanChunk } from '../reads/scan.js'

/**
 * Several walks over one type as one, by the time of the last change. A record that more than one of them meets is met
 * once, because all meet it at the time of its change: only the records of one instant need be remembered.
 */
export async function * mergeSorted (walks: ReadonlyArray<AsyncGenerator<ScanChunk>>): AsyncGenerator<ScanChunk> {
  if (walks.length === 1) return yield * walks[0]!
  const heads = walks.map(walk => new Head(walk))
  try {
    for (;;) {
      const times = (await Promise.all(heads.map(head => head.time()))).filter(time => time !== undefined)
      if (times.length === 0) return
      const instant = Math.min(...times)
      const met = new Map<string, StoredResource>()
      for (const head of heads) {
        for (const record of await head.takenAt(instant)) met.set(record.id, record)
      }
      const records = [...met.values()]
      yield { records, upTo: latest(records) }
    }
  } finally {
    await Promise.all(walks.map(walk => walk.return(undefined)))
  }
}

/** A datastore may return times finer than milliseconds. */
function latest (records: readonly StoredResource[]): string {
  return records.map(({ meta }) => meta.lastUpdated!).reduce((last, time) => time > last ? time : last)
}

/** The next records of one walk. */
class Head {
  #records: StoredResource[] = []

  constructor (private readonly walk: AsyncGenerator<ScanChunk>) {}

  /** Of the next record, in milliseconds; undefined at the end. */
  async time (): Promise<number | undefined> {
    while (this.#records.length === 0) {
      const { value, done } = await this.walk.next()
      if (done === true) return undefined
      this.#records = value.records.toReversed()
    }
    return timeOf(this.#records.at(-1)!)
  }

  async takenAt (instant: number): Promise<StoredResource[]> {
    const taken: StoredResource[] = []
    while (await this.time() === instant) taken.push(this.#records.pop()!)
    return taken
  }
}

const timeOf = ({ meta }: StoredResource): number => Date.parse(meta.lastUpdated!)
