import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { ControlStore } from '../control-plane/store/store.js'
import type { Check } from '../http/health.js'
import { createAuthenticator, isFresh, type Authenticate } from '../keys/authenticate.js'
import { KeyCache } from '../keys/cache.js'
import type { Batch, ChangeFeed, Position } from '../keys/change-feed.js'
import { Follower } from '../keys/follower.js'
import { Replica } from '../keys/replica.js'

/** The local copy of the keys, as it follows the control plane. */
export interface OpenKeys {
  readonly authenticate: Authenticate
  /** The copy's state of an organization. */
  readonly organization: Replica['findOrganization']
  /** Whether a key is revoked according to the copy. */
  readonly isRevoked: (keyId: string) => boolean
  /** Whether keys can be checked: the copy is complete, and no older than it may be. */
  readonly canServe: () => boolean
  /** How old the copy is. */
  readonly check: () => KeysCheck
  /** How often a key was cached, and how often it was looked up in the copy. */
  readonly lookups: () => KeyCache['lookups']
  /** The copy's position in the change feed. */
  readonly position: () => Position
  /** Resolves when the copy is complete for the first time since the start. */
  readonly isCaughtUp: Promise<void>
  /** Resolves when the copy has all changes that a control store in the same process has now. */
  readonly catchUp: (control: Pick<ControlStore, 'listChangesAfter'>) => Promise<void>
  readonly close: () => Promise<void>
}

/** `ageSeconds` is null while the copy is being built. */
interface KeysCheck extends Check { readonly isConnected: boolean, readonly ageSeconds: number | null }

/** The dependencies of the copy; `onApplied` is called when changes have taken effect. */
interface KeysParts {
  readonly feed: ChangeFeed
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  readonly onApplied: () => void
}

/** A copy that is older than this is worth a look; it is refreshed every few seconds. */
const noticedAfterSeconds = 60

/** Opens the copy in the data directory and starts following the feed. */
export function openKeys ({ dataDirectory, keys }: Config, { feed, now, log, onApplied }: KeysParts): OpenKeys {
  const replica = new Replica(join(dataDirectory, 'keys.db'))
  const cache = new KeyCache({ lookup: hash => replica.find(hash) })
  const follower = new Follower({ feed, replica, cache, now, log, onApplied })
  return {
    authenticate: createAuthenticator({ replica, cache, maxStalenessMinutes: keys.maxStalenessMinutes }),
    organization: tenantId => replica.findOrganization(tenantId),
    isRevoked: keyId => replica.isRevoked(keyId),
    canServe: () => isFresh(replica.syncedAt(), now(), keys.maxStalenessMinutes),
    check: () => checkKeys(replica.syncedAt(), follower.isConnected, now()),
    lookups: () => cache.lookups,
    position: () => replica.readPosition(),
    isCaughtUp: follower.caughtUp,
    catchUp: async control => {
      await follower.caughtUp
      while (!isLatest(await control.listChangesAfter(replica.readPosition(), 1))) await pause(10)
    },
    close: async () => {
      await follower.stop()
      replica.close()
    }
  }
}

function isLatest ({ isSnapshot, changes }: Batch): boolean {
  return !isSnapshot && changes.length === 0
}

function checkKeys (syncedAt: Date | undefined, isConnected: boolean, now: Date): KeysCheck {
  const ageSeconds = syncedAt && Math.round((now.getTime() - syncedAt.getTime()) / 1_000)
  const isOk = isConnected && ageSeconds !== undefined && ageSeconds <= noticedAfterSeconds
  return { status: isOk ? 'ok' : 'degraded', isConnected, ageSeconds: ageSeconds ?? null }
}
