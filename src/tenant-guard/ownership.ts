import { LRUCache } from 'lru-cache'

/**
 * Which records are known to be whose, in this process. Only what was seen is remembered and nothing expires, because a
 * record never changes its tenant. That a record is not known says nothing.
 */
export interface Ownership {
  /** `record` is `Type/id`. */
  isKnown (owner: OwnerPlace, record: string): boolean
  remember (owner: OwnerPlace, record: string): void
  /** A record that is deleted, or that the datastore does not have any more. */
  forget (owner: OwnerPlace, record: string): void
}

/** A tenant in a datastore. */
export interface OwnerPlace { readonly datastore: string, readonly tenant: string }

/** What an {@link Ownership} has come to since the start. */
export interface OwnershipCounts { readonly hits: number, readonly misses: number, readonly records: number }

/** An {@link Ownership} of at most `max` records, the least recently used dropped first; a hundred thousand take some 15 MB. */
export function ownershipCache ({ max = 200_000 }: { readonly max?: number } = {}): Ownership & { readonly counts: () => OwnershipCounts } {
  // By the sum of sizes and not by `max`, for which the library takes the memory of all of them at once.
  const owners = new LRUCache<string, string>({ maxSize: max, sizeCalculation: () => 1 })
  let hits = 0
  let misses = 0
  return {
    isKnown: ({ datastore, tenant }, record) => {
      const isKnown = owners.get(keyOf(datastore, record)) === tenant
      if (isKnown) hits++
      else misses++
      return isKnown
    },
    counts: () => ({ hits, misses, records: owners.size }),
    remember: ({ datastore, tenant }, record) => { owners.set(keyOf(datastore, record), tenant) },
    forget: ({ datastore }, record) => { owners.delete(keyOf(datastore, record)) }
  }
}

/**
 * What one piece of bulk work sees is kept apart from what requests use, and is less: it would push all of that out, each record
 * once, and need the memory for it.
 */
export function ownershipOfWork (shared: Ownership): Ownership {
  const own = ownershipCache({ max: mostOfWork })
  return {
    isKnown: (owner, record) => own.isKnown(owner, record) || shared.isKnown(owner, record),
    remember: (owner, record) => { own.remember(owner, record) },
    forget: (owner, record) => {
      own.forget(owner, record)
      shared.forget(owner, record)
    }
  }
}

const mostOfWork = 20_000

function keyOf (datastore: string, record: string): string {
  return `${datastore} ${record}`
}
