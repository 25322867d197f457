import type { FastifyBaseLogger } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { base32, randomString } from '../keys/random-text.js'
import type { BatchAck } from '../outbox/batch.js'
import { compiledModule, FileWriter } from '../outbox/file-writer.js'
import { FileFailure } from '../outbox/messages.js'
import { eventsPerBatch, type ChangeEvent, type EventBatch } from './event.js'
import { toEvents } from './to-events.js'
import type { ChangeOwner, ChangeRecorder, Intent, MadeChange, OpenChange, PlannedChange } from './intent.js'
import type { LogEntry, LogState } from './log/file.js'
import { GroupCommit } from './log/group-commit.js'

/** `now` is the wall clock. */
interface EventLogOptions {
  readonly file: string
  /** The maximum size of the file. Beyond it, writes of records are refused until the control plane takes events. */
  readonly maxBytes: number
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  /** Called when events wait to be sent. */
  readonly onEvents?: () => void
}

/** Whose changes a recorder writes down, and for which request. */
export interface ChangeSource {
  readonly owner: ChangeOwner
  readonly requestId: string
}

/**
 * The events of one gateway on its disk: an intent before the datastore is asked for a change, and its events before
 * the client gets its response. Nothing is acknowledged without its event. An intent whose outcome is unknown is kept
 * until it is concluded.
 */
export class EventLog {
  readonly #options: EventLogOptions
  readonly #writer: FileWriter
  readonly #commit: GroupCommit
  /** Ids of intents that only the datastore can conclude. */
  readonly #unknown = new Set<number>()
  /** Changes that are under way, each resolved when it is known what became of it, or that this is unknown. */
  readonly #live = new Set<Promise<void>>()
  #opened: Promise<void> | undefined
  #lastIntent = 0
  #isFailing = false
  #appended = 0

  constructor (options: EventLogOptions) {
    const { file: path, now } = options
    this.#options = options
    this.#writer = new FileWriter({ path, thread: compiledModule('events/log/thread.js'), name: 'event-log', now })
    this.#commit = new GroupCommit(entries => this.#write(entries))
  }

  /** Whether the log can't be written now. */
  get isFailing (): boolean {
    return this.#isFailing
  }

  /** The number of events that were written since the start. */
  get appended (): number {
    return this.#appended
  }

  /** The number of intents that only the datastore can conclude. */
  get unresolved (): number {
    return this.#unknown.size
  }

  /** Finds out which intents an earlier process left behind. Also resolves on failure; the next write tries again. */
  async open (): Promise<void> {
    await this.#open().catch(() => {})
  }

  /** The recorder of a request's changes. */
  recorderOf (source: ChangeSource): ChangeRecorder {
    return { begin: changes => this.#begin(source, changes) }
  }

  /** Intents that only the datastore can conclude, oldest first. @throws {FileFailure} */
  async unknown (max: number): Promise<ReadonlyArray<readonly [id: number, intent: Intent]>> {
    await this.#open()
    if (this.#unknown.size === 0) return []
    return await this.#writer.call('intents', [...this.#unknown].slice(0, max), max)
  }

  /** The records, as `Type/id`, whose creation is written down, at least all since a time. @throws {FileFailure} */
  async createdSince (time: Date): Promise<ReadonlySet<string>> {
    return new Set(await this.#writer.call<readonly string[]>('createdSince', time))
  }

  /** Resolves when all changes that are under way now have ended. */
  async whenConcluded (): Promise<void> {
    await Promise.all(this.#live)
  }

  /** Concludes an intent by what the datastore says. @throws {Failure} BACKEND_UNAVAILABLE if it can't be written */
  async conclude (id: number, intent: Intent, made: ReadonlyArray<MadeChange | undefined>): Promise<void> {
    const events = toEvents(intent, made, this.#options.now())
    await this.#add({ concluded: id, events }, notWritten)
    this.#unknown.delete(id)
    this.#noteEvents(events)
  }

  /** Tries an intent again only after all others. */
  postpone (id: number): void {
    if (this.#unknown.delete(id)) this.#unknown.add(id)
  }

  /** The next batch for the control plane; undefined if it has everything. @throws {FileFailure} */
  nextBatch (): Promise<EventBatch | undefined> {
    return this.#writer.call('nextBatch', eventsPerBatch)
  }

  /** Applies the receipt of a batch. @throws {FileFailure} */
  settle (receipt: BatchAck): Promise<void> {
    return this.#writer.call('applyAck', receipt, this.#options.now())
  }

  /** @throws {FileFailure} */
  state (): Promise<LogState> {
    return this.#writer.call('state')
  }

  close (): Promise<void> {
    return this.#writer.close()
  }

  async #begin ({ owner, requestId }: ChangeSource, changes: readonly PlannedChange[]): Promise<OpenChange> {
    const { now } = this.#options
    await this.#open().catch((error: unknown) => { throw notWritten(error) })
    const id = ++this.#lastIntent
    const content: Intent = {
      owner, requestId, startedAt: now().toISOString(), eventId: randomString(base32, 22), changes
    }
    await this.#add({ intent: id, content }, notWritten)
    const end = this.#beginLive()
    return {
      made: async made => {
        const events = toEvents(content, made, now())
        await this.#add({ concluded: id, events }, error => {
          this.#unknown.add(id)
          return uncertain(error)
        }).finally(end)
        this.#noteEvents(events)
      },
      refused: () => {
        end()
        // If this is lost, the datastore is asked once more, with the same result.
        this.#commit.add({ concluded: id, events: [] }).catch(() => { this.#unknown.add(id) })
      },
      unknown: () => {
        end()
        this.#unknown.add(id)
      }
    }
  }

  #beginLive (): () => void {
    let end = () => {}
    const live = new Promise<void>(resolve => { end = resolve })
    this.#live.add(live)
    return () => {
      this.#live.delete(live)
      end()
    }
  }

  #open (): Promise<void> {
    this.#opened ??= this.#readIntents().catch((error: unknown) => {
      this.#opened = undefined
      this.#fail(error)
      throw error
    })
    return this.#opened
  }

  async #readIntents (): Promise<void> {
    const ids = await this.#writer.call<readonly number[]>('openIntents')
    for (const id of ids) this.#unknown.add(id)
    this.#lastIntent = Math.max(this.#lastIntent, ids.at(-1) ?? 0)
  }

  async #add (entry: LogEntry, failure: (error: unknown) => Failure): Promise<void> {
    await this.#commit.add(entry).catch((error: unknown) => { throw failure(error) })
  }

  async #write (entries: readonly LogEntry[]): Promise<void> {
    try {
      await this.#writer.call('write', entries, this.#options.maxBytes)
      if (this.#isFailing) this.#options.log.info('the event log can be written again')
      this.#isFailing = false
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  #fail (error: unknown): void {
    const { log } = this.#options
    if (!this.#isFailing) log.error({ err: error }, 'the event log cannot be written; changes of records are refused')
    this.#isFailing = true
    if (error instanceof FileFailure && error.aside !== undefined) {
      log.error({ file: error.aside }, 'the event log is damaged and was set aside; a new one was started')
    }
  }

  #noteEvents ({ length }: readonly ChangeEvent[]): void {
    this.#appended += length
    if (length > 0) this.#options.onEvents?.()
  }
}

function notWritten (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The gateway cannot write its event log at the moment. Nothing was changed. Try again later.',
    cause
  })
}

function uncertain (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message:
      'The gateway cannot write its event log at the moment. Before you repeat the change, check whether it was made.',
    cause
  })
}
