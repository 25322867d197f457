import { LRUCache } from 'lru-cache'

/**
 * The records of which this process knows the tenant. Nothing expires, because a record never changes its tenant. A
 * record that is not known may still be the tenant's.
 */
export interface Ownership {
  /** `record` is `Type/id`. */
  isKnown (owner: OwnershipScope, record: string): boolean
  remember (owner: OwnershipScope, record: string): void
  /** A record that is deleted, or that the datastore no longer has. */
  forget (owner: OwnershipScope, record: string): void
}

/** A tenant in a datastore. */
export interface OwnershipScope { readonly datastore: string, readonly tenant: string }

/** How an {@link Ownership} was used since the start. */
export interface OwnershipCounts { readonly hits: number, readonly misses: number, readonly records: number }

/**
 * An {@link Ownership} of at most `max` records, the least recently used dropped first; a hundred thousand take some 15
 * MB.
 */
export function createOwnershipCache ({ max = 200_000 }: { readonly max?: number } = {}): Ownership & {
  readonly counts: () => OwnershipCounts
} {
  // Bounded by the sum of sizes: for `max`, the library allocates the memory of all entries at once.
  const owners = new LRUCache<string, string>({ maxSize: max, sizeCalculation: () => 1 })
  let hits = 0
  let misses = 0
  return {
    isKnown: ({ datastore, tenant }, record) => {
      const isKnown = owners.get(toCacheKey(datastore, record)) === tenant
      if (isKnown) hits++
      else misses++
      return isKnown
    },
    counts: () => ({ hits, misses, records: owners.size }),
    remember: ({ datastore, tenant }, record) => {
      const key = toCacheKey(datastore, record)
      // A look-up makes it the most recently used one as well, and takes less time.
      if (owners.get(key) !== tenant) owners.set(key, tenant)
    },
    forget: ({ datastore }, record) => {
      owners.delete(toCacheKey(datastore, record))
    }
  }
}

/**
 * The {@link Ownership} of one bulk job, apart from that of requests and smaller: a job sees most records only once,
 * and would push out everything that requests use.
 */
export function createJobOwnershipCache (shared: Ownership): Ownership {
  const own = createOwnershipCache({ max: maxJobRecords })
  return {
    isKnown: (owner, record) => own.isKnown(owner, record) || shared.isKnown(owner, record),
    remember: (owner, record) => { own.remember(owner, record) },
    forget: (owner, record) => {
      own.forget(owner, record)
      shared.forget(owner, record)
    }
  }
}

const maxJobRecords = 20_000

function toCacheKey (datastore: string, record: string): string {
  return `${datastore} ${record}`
}
