import { Failure, type Issue } from '../envelope/failures.js'
import {
  digest, computeFingerprint, computeIdempotencyTags, computeRequestName, type IdempotentRequest
} from './digest.js'
import { idempotencyKey } from './header.js'

/** A change that was about to be written: the version that it replaces, and a digest of the new content. */
export interface Intent { readonly version: string, readonly content: string }

/** The result of a request: the id and version of the record in its response, and the warnings of the write. */
export interface Result {
  readonly id: string
  readonly version?: string
  /** They name elements, and have no values. */
  readonly warnings?: readonly Issue[]
}

/**
 * The right to perform a request with a key, and the known outcome of earlier attempts. It ends with the block that
 * holds it by `await using`.
 */
export interface IdempotencyClaim extends AsyncDisposable {
  readonly firstSeenAt: Date
  /** For a create: from {@link computeIdempotencyTags}. */
  readonly tags: readonly [string, string]
  /** The result of an earlier attempt. Absent if none finished. */
  readonly result?: Result
  /** The change that an earlier attempt was about to write, if it is unknown whether it did. */
  readonly intent?: Intent
  /** A digest of the content that a change writes, which can't be computed without the key. */
  digestOf (content: unknown): string
  /**
   * Stores the change about to be written, or undefined if it certainly was not.
   * @throws {Failure} BACKEND_UNAVAILABLE while nothing can be stored, CONFLICT if another attempt has taken over
   */
  intend (intent: Intent | undefined): Promise<void>
  finish (result: Result): Promise<void>
}

/** The stored facts of a request with an Idempotency-Key. */
export interface StoredRequest {
  readonly firstSeenAt: Date
  readonly result?: Result
  readonly intent?: Intent
}

/** A request to store, for a day: digests of its key and of the whole of it, and the time at which it came. */
export interface RequestToClaim { readonly name: string, readonly fingerprint: string, readonly now: Date }

/**
 * Where requests with an Idempotency-Key are stored. Each method is atomic.
 * @throws {Failure} BACKEND_UNAVAILABLE while nothing can be stored
 */
export interface RequestStorage {
  /** Stores a request unless it is there, and claims it until it is released. `reused`: the key had another request. */
  claim (request: RequestToClaim): Promise<StoredRequest | 'reused' | 'in-progress'>
  /** @returns false if the claim was lost to another attempt: then nothing was stored */
  intend (name: string, intent: Intent | undefined): Promise<boolean>
  finish (name: string, result: Result): Promise<void>
  release (name: string): Promise<void>
  close (): void
}

/** The lifetime of a key, in milliseconds. */
export const lifetimeMs = idempotencyKey.lifetimeHours * 3_600_000

/**
 * The requests with an Idempotency-Key of the last 24 hours, as digests, ids and versions: nothing clinical and no key.
 */
export class IdempotencyStore {
  readonly #storage: RequestStorage
  readonly #now: () => Date

  constructor ({ storage, now }: { readonly storage: RequestStorage, readonly now: () => Date }) {
    this.#storage = storage
    this.#now = now
  }

  /**
   * Claims a request unless it is already being performed. Stores it first; checking and storing is atomic, so only
   * one of two concurrent requests proceeds.
   * @throws {Failure} IDEMPOTENCY_KEY_REUSED if the key was used for a different request, CONFLICT while the first
   * request is in progress, BACKEND_UNAVAILABLE while nothing can be stored, such as on a full disk
   */
  async claim (request: IdempotentRequest): Promise<IdempotencyClaim> {
    const [name, fingerprint] = [computeRequestName(request), computeFingerprint(request)]
    const stored = await this.#storage.claim({ name, fingerprint, now: this.#now() })
    if (stored === 'reused') throw new Failure('IDEMPOTENCY_KEY_REUSED')
    if (stored === 'in-progress') throw requestInProgress()
    return {
      ...stored,
      tags: computeIdempotencyTags(name, fingerprint, stored.firstSeenAt),
      digestOf: content => digest('content', request.key, content),
      intend: async intent => {
        if (!await this.#storage.intend(name, intent)) throw requestInProgress()
      },
      finish: result => ignoreUnavailable(this.#storage.finish(name, result)),
      [Symbol.asyncDispose]: () => ignoreUnavailable(this.#storage.release(name))
    }
  }

  /** Closes the storage. */
  close (): void {
    this.#storage.close()
  }
}

/** The request was performed, so the client receives its result. A repetition is served from the record. */
async function ignoreUnavailable (storing: Promise<void>): Promise<void> {
  try {
    await storing
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}

/** The failure of a storage that stores nothing at the moment. */
export function storageUnavailable (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'Nothing was done, because the Idempotency-Key cannot be stored at the moment.',
    retryAfterSeconds: 5,
    cause
  })
}

function requestInProgress (): Failure {
  return new Failure('CONFLICT', {
    message: 'The first request with this Idempotency-Key is still being processed.',
    retryAfterSeconds: 1
  })
}
