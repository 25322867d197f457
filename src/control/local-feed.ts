import { setTimeout as pause } from 'node:timers/promises'
import type { Batch, ChangeFeed, Position } from '../keys/change-feed.js'
import type { ControlStore } from './store.js'

const batchSize = 1_000

/** How often the store is asked for changes, and how often a copy hears that there are none. */
export interface LocalFeedOptions { readonly pollMs?: number, readonly heartbeatMs?: number }

/**
 * The change feed of a control store on the same machine. It asks the store, one row of it, ten times a second, and so sees
 * what another process wrote, the CLI for one.
 */
export function localFeed (store: ControlStore, options: LocalFeedOptions = {}): ChangeFeed {
  return { follow: (from, signal) => follow(store, { from, signal, ...options }) }
}

interface Following extends LocalFeedOptions { readonly from: Position, readonly signal: AbortSignal }

async function * follow (store: ControlStore, { from, signal, pollMs = 100, heartbeatMs = 5_000 }: Following): AsyncGenerator<Batch> {
  let position = from
  let silentPolls = Infinity
  while (!signal.aborted) {
    const batch = await store.changesAfter(position, batchSize)
    if (hasNews(batch) || ++silentPolls * pollMs >= heartbeatMs) {
      yield batch
      position = { feedId: batch.feedId, seq: batch.through }
      silentPolls = 0
    }
    if (batch.isLatest) await pause(pollMs, undefined, { signal })
  }
}

function hasNews (batch: Batch): boolean {
  return batch.startsOver || batch.changes.length > 0
}
