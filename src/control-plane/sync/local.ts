import type { ControlPlaneClient, LinkedStore } from './link.js'
import type { Batch, ChangeFeed, Position } from '../../keys/change-feed.js'
import type { ControlStore } from '../store/store.js'

/** The link from the gateway with this name to the control store in the same process. */
export function createLocalLink (
  { feed, report, applyUsage, applyEvents, events, jobs, webhooks, subscriptions }: LinkedStore,
  name: string
): ControlPlaneClient {
  return {
    feed,
    report,
    sendUsage: batch => applyUsage(batch, name),
    sendEvents: batch => applyEvents(batch, name),
    events,
    jobs,
    webhooks,
    subscriptions,
    close: async () => {}
  }
}

const batchSize = 1_000

/** The parts of a control store that the feed reads. */
type Changing = Pick<ControlStore, 'listChangesAfter' | 'listenForChanges'>

/** `heartbeatMs`: how often an empty batch is sent if there are no changes. */
interface LocalFeedOptions { readonly heartbeatMs?: number }

/** The change feed of a control store that is open in this process. It has the changes of all processes. */
export function createInProcessChangeFeed (store: Changing, options: LocalFeedOptions = {}): ChangeFeed {
  return { follow: (from, signal) => follow(store, { from, signal, ...options }) }
}

interface Following extends LocalFeedOptions { readonly from: Position, readonly signal: AbortSignal }

async function * follow (store: Changing, { from, signal, heartbeatMs = 5_000 }: Following): AsyncGenerator<Batch> {
  // Listening starts before the first read, so that no change in between is missed.
  const subscription = store.listenForChanges()
  try {
    for (let position = from; ;) {
      const batch = await store.listChangesAfter(position, batchSize)
      yield batch
      position = { feedId: batch.feedId, seq: batch.through }
      if (batch.isLatest) await subscription.next(signal, heartbeatMs)
      signal.throwIfAborted()
    }
  } finally {
    subscription.close()
  }
}
