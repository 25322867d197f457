import type { FastifyBaseLogger } from 'fastify'
import type { AddressRules } from '../../net/checked-connection.js'
import { BackgroundTask } from '../../time/background-task.js'
import { getJitteredBackoffMs } from '../../time/backoff.js'
import type { Attempt, ClaimedWebhook, DeliveryQueue, DueEvent, TurnResult } from './delivery-queue.js'
import { createReceiverAgent, sendEvent } from './send-event.js'
import type { Agent } from 'undici'

/** The parts of a deliverer. */
interface DelivererParts {
  readonly queue: DeliveryQueue
  readonly rules: AddressRules
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Receives the outcome of each attempt. */
  readonly onAttempt?: (outcome: Attempt['outcome']) => void
  /** How many webhooks are delivered to concurrently. */
  readonly webhooksAtOnce?: number
  /** How often to look for events, in milliseconds. */
  readonly lookMs?: number
  /** How often to look for webhooks that other processes create, where there are none, in milliseconds. */
  readonly idleMs?: number
}

/** A turn begins no further attempts after this, so that changes of a webhook take effect soon. */
const turnMs = 2_000
/** Longer than a turn with its last attempt. */
const leaseMs = 60_000
/** How long a webhook is left alone whose secret can't be decrypted. */
const unreadableMs = 10_000
const maxPauseMs = 30_000

/**
 * Delivers the events of webhooks, until it is closed. Each webhook has a turn of its own, so a receiver that hangs
 * does not delay others. If the process crashes, the events of its turns are sent again, with the same ids.
 */
export class WebhookDeliverer {
  readonly #parts: Required<Omit<DelivererParts, 'onAttempt'>> & Pick<DelivererParts, 'onAttempt'>
  readonly #turns = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #agent: Agent
  /** The webhooks whose secret could not be decrypted when it was last needed. */
  readonly #unreadable = new Set<string>()
  readonly #loop: BackgroundTask
  #failures = 0

  /** Starts immediately. */
  constructor (parts: DelivererParts) {
    this.#parts = { webhooksAtOnce: 256, lookMs: 250, idleMs: 2_000, ...parts }
    this.#agent = createReceiverAgent(parts.rules)
    this.#loop = new BackgroundTask(stopping => this.#claimWebhooks(stopping))
    parts.queue.onReceiverCreated(() => this.#loop.wake())
  }

  /** The number of failed reads of the queue since the last success. */
  get failures (): number {
    return this.#failures
  }

  /** Aborts the attempts in progress, which count as not made. */
  async close (): Promise<void> {
    this.#stopping.abort()
    await this.#loop.stop()
    await Promise.all(this.#turns)
    await this.#agent.destroy()
  }

  /** @returns how long to wait afterwards, in milliseconds */
  async #claimWebhooks (stopping: AbortSignal): Promise<number> {
    const { queue, webhooksAtOnce, lookMs, idleMs, log } = this.#parts
    try {
      while (this.#turns.size < webhooksAtOnce && !stopping.aborted) {
        const claimed = await queue.claim(leaseMs)
        this.#handleSuccess()
        if (claimed === undefined) return queue.hasReceivers ? lookMs : idleMs
        this.#begin(claimed)
      }
      return lookMs
    } catch (error) {
      if (this.#failures === 0) log.warn({ err: error }, 'the webhooks cannot be read')
      return getJitteredBackoffMs({ firstMs: lookMs, maxMs: maxPauseMs }, this.#failures++)
    }
  }

  #handleSuccess (): void {
    if (this.#failures > 0) this.#parts.log.info('the webhooks can be read again')
    this.#failures = 0
  }

  #begin (claimed: ClaimedWebhook): void {
    const turn = this.#deliver(claimed).catch((error: unknown) => {
      // The lease expires, and the events are sent again.
      this.#parts.log.warn({ err: error, webhook: claimed.lease.webhookId }, 'deliveries could not be recorded')
    }).finally(() => {
      this.#turns.delete(turn)
      this.#loop.wake()
    })
    this.#turns.add(turn)
  }

  async #deliver (claimed: ClaimedWebhook): Promise<void> {
    const { queue, log, version, now } = this.#parts
    const { secrets, url, channel, lease: { webhookId: webhook } } = claimed
    if (secrets === undefined) {
      if (!this.#unreadable.has(webhook)) {
        log.error(
          { webhook },
          'the secret of a webhook or subscription cannot be decrypted; set webhooks.secretFile to the key that encrypted it, the same for all control planes, or roll the secret of the webhook'
        )
      }
      this.#unreadable.add(webhook)
      return await queue.record(claimed, { attempts: [], position: claimed.position, heldMs: unreadableMs })
    }
    this.#unreadable.delete(webhook)
    const destination = { url, secrets, version, now, ...channel && { channel } }
    const turn = new Turn(claimed, async event => {
      const attempt = await sendEvent(this.#agent, { event, destination }, this.#stopping.signal)
      if (attempt !== undefined) this.#parts.onAttempt?.(attempt.outcome)
      return attempt
    })
    await turn.run()
    await queue.record(claimed, turn.result)
  }
}

/** The attempts of one claim: several at a time, and no more than may fail. */
class Turn {
  readonly #claimed: ClaimedWebhook
  readonly #send: (event: DueEvent) => Promise<Attempt | undefined>
  readonly #attempts: Attempt[] = []
  readonly #endsAt = performance.now() + turnMs
  #next = 0
  #inFlight = 0
  #failed = 0
  #isAborted = false
  #restMs = 0

  constructor (claimed: ClaimedWebhook, send: (event: DueEvent) => Promise<Attempt | undefined>) {
    this.#claimed = claimed
    this.#send = send
  }

  async run (): Promise<void> {
    const { retries, maxFailures } = this.#claimed
    await Promise.all([
      ...retries.map(event => this.#attempt(event)),
      ...Array.from({ length: maxFailures }, () => this.#sendFresh())
    ])
  }

  /** The result of the attempts, once {@link run} has ended. */
  get result (): TurnResult {
    const { fresh, position, through } = this.#claimed
    const ended = new Set(this.#attempts.map(({ event }) => event))
    const missing = fresh.findIndex(event => !ended.has(event))
    return {
      attempts: this.#attempts,
      position: missing === -1 ? through : fresh[missing - 1]?.sequence ?? position,
      ...this.#restMs > 0 && { restMs: this.#restMs }
    }
  }

  /** Sends new events in their order while there is time, and room for those that fail. */
  async #sendFresh (): Promise<void> {
    const { fresh, maxFailures } = this.#claimed
    while (
      this.#next < fresh.length && this.#failed + this.#inFlight < maxFailures && performance.now() < this.#endsAt &&
      this.#restMs === 0 && !this.#isAborted
    ) {
      const event = fresh[this.#next++]!
      this.#inFlight++
      const attempt = await this.#attempt(event)
      this.#inFlight--
      if (attempt?.outcome === 'failed') this.#failed++
    }
  }

  async #attempt (event: DueEvent): Promise<Attempt | undefined> {
    const attempt = await this.#send(event)
    if (attempt === undefined) {
      this.#isAborted = true
      return undefined
    }
    this.#attempts.push(attempt)
    // Overloaded receivers request a pause for all that they receive.
    const { responseStatus, retryAfterMs = 0 } = attempt
    if (responseStatus === 429 || responseStatus === 503) this.#restMs = Math.max(this.#restMs, retryAfterMs)
    return attempt
  }
}
