import type { FastifyBaseLogger } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { base32, randomString } from '../keys/random-text.js'
import { toPrintedBatch, type BatchAck, type PrintedBatch } from '../control-plane/outbox/batch.js'
import { resolveCompiledModule, FileWriter } from '../control-plane/outbox/file-writer.js'
import { FileFailure } from '../control-plane/outbox/messages.js'
import type { StoredBatch } from '../control-plane/outbox/series.js'
import { eventsPerBatch, type ChangeEvent } from './event.js'
import { toEvents } from './to-events.js'
import type { ChangeOwner, ChangeRecorder, Intent, MadeChange, OpenChange, PlannedChange } from './intent.js'
import type { LogState, OpenedLog } from './log/file.js'
import { Journal } from './log/journal.js'
import { formatConclusion, formatIntent } from './log/journal-files.js'

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

/** Changes that are under way, whose end is awaited. */
interface AwaitedChanges { readonly left: Set<number>, readonly resolve: () => void }

/** The size of the journal's files. They are read again every quarter of a second, from where they were read before. */
const maxJournalBytes = 4 * 1_048_576

/**
 * The events of one gateway on its disk: an intent is stored before the change is requested from the datastore, and its
 * events before the client gets its response. Nothing is acknowledged without its event. An intent whose outcome is
 * unknown is retained until it is concluded.
 */
export class EventLog {
  readonly #options: EventLogOptions
  readonly #writer: FileWriter
  #journal: Journal | undefined
  /** Ids of intents that only the datastore can conclude. */
  readonly #unknown = new Set<number>()
  /** Changes in progress: their outcome is not known yet, nor whether it will remain unknown. */
  readonly #inProgress = new Set<number>()
  readonly #awaited = new Set<AwaitedChanges>()
  #opened: Promise<Journal> | undefined
  /** The size of the log at its last check, and of the journal then. */
  #size = { log: 0, journal: 0 }
  #lastIntent = 0
  #isFailing = false
  #appended = 0

  constructor (options: EventLogOptions) {
    const { file: path, now } = options
    this.#options = options
    this.#writer = new FileWriter({ path, thread: resolveCompiledModule('events/log/thread.js'), name: 'event-log', now })
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
  createRecorder (source: ChangeSource): ChangeRecorder {
    return { begin: changes => this.#begin(source, changes) }
  }

  /** Intents that only the datastore can conclude, oldest first. @throws {FileFailure} */
  async listUnresolved (max: number): Promise<ReadonlyArray<readonly [id: number, intent: Intent]>> {
    const { end } = await this.#open()
    if (this.#unknown.size === 0) return []
    const ids = [...this.#unknown].slice(0, max)
    const found = await this.#writer.call<ReadonlyArray<readonly [number, Intent]>>('intents', end, ids, max)
    const left = new Set(found.map(([id]) => id))
    // Its events were written, although that was uncertain; or it was not written, and so nothing was requested.
    for (const id of ids) if (!left.has(id)) this.#unknown.delete(id)
    return found
  }

  /** The records, as `Type/id`, whose creation is written down, at least all since a time. @throws {FileFailure} */
  async listCreatedSince (time: Date): Promise<ReadonlySet<string>> {
    const { end } = await this.#open()
    return new Set(await this.#writer.call<readonly string[]>('createdSince', end, time))
  }

  /** Resolves when all changes that are under way now have ended. */
  async waitForOpenChanges (): Promise<void> {
    const left = new Set(this.#inProgress)
    if (left.size === 0) return
    await new Promise<void>(resolve => this.#awaited.add({ left, resolve }))
  }

  /** Concludes an intent by what the datastore says. @throws {Failure} BACKEND_UNAVAILABLE if it can't be written */
  async conclude (id: number, intent: Intent, made: ReadonlyArray<MadeChange | undefined>): Promise<void> {
    const events = toEvents(intent, made, this.#options.now())
    const file = await this.#open()
    await this.#commit(file, formatConclusion(id, events)).catch(error => { throw eventLogUnavailable(error) })
    this.#unknown.delete(id)
    this.#noteEvents(events)
  }

  /** Tries an intent again only after all others. */
  postpone (id: number): void {
    if (this.#unknown.delete(id)) this.#unknown.add(id)
  }

  /** The next batch for the control plane; undefined if it has everything. @throws {FileFailure} */
  async nextBatch (): Promise<PrintedBatch<ChangeEvent> | undefined> {
    const { end } = await this.#open()
    const batch = await this.#writer.call<StoredBatch | undefined>('nextBatch', end, eventsPerBatch)
    return batch && toPrintedBatch(batch, batch)
  }

  /** Applies the receipt of a batch. @throws {FileFailure} */
  settle (receipt: BatchAck): Promise<void> {
    return this.#writer.call('applyAck', receipt, this.#options.now())
  }

  /** @throws {FileFailure} */
  async readState (): Promise<LogState> {
    const { end, bytes } = await this.#open()
    const state = await this.#writer.call<LogState>('state', end)
    this.#size = { log: state.bytes, journal: bytes }
    return state
  }

  async close (): Promise<void> {
    await this.#journal?.close()
    await this.#writer.close()
  }

  async #begin ({ owner, requestId }: ChangeSource, changes: readonly PlannedChange[]): Promise<OpenChange> {
    const journal = this.#journal ?? await this.#open().catch((error: unknown) => { throw eventLogUnavailable(error) })
    if (this.#isFull(journal)) await this.#makeRoom(journal)
    const id = ++this.#lastIntent
    const intent: Intent = {
      owner,
      requestId,
      startedAt: this.#options.now().toISOString(),
      eventId: randomString(base32, 22),
      changes
    }
    this.#append(journal, formatIntent(id, intent))
    this.#inProgress.add(id)
    return {
      made: made => this.#writeEvents(journal, id, toEvents(intent, made, this.#options.now())),
      refused: () => {
        this.#end(id)
        try {
          this.#append(journal, formatConclusion(id, []))
        } catch {
          // The datastore is queried once more, with the same result.
          this.#unknown.add(id)
        }
      },
      unknown: () => {
        this.#end(id)
        this.#unknown.add(id)
      }
    }
  }

  async #writeEvents (journal: Journal, id: number, events: readonly ChangeEvent[]): Promise<void> {
    try {
      await this.#commit(journal, formatConclusion(id, events))
    } catch (error) {
      this.#unknown.add(id)
      throw unconfirmedChange(error)
    } finally {
      this.#end(id)
    }
    this.#noteEvents(events)
  }

  /** Records that the outcome of a change is known, or will remain unknown for now. */
  #end (id: number): void {
    this.#inProgress.delete(id)
    for (const awaited of this.#awaited) {
      if (!awaited.left.delete(id) || awaited.left.size > 0) continue
      this.#awaited.delete(awaited)
      awaited.resolve()
    }
  }

  #open (): Promise<Journal> {
    this.#opened ??= this.#openJournal().catch((error: unknown) => {
      this.#opened = undefined
      this.#handleFailure(error)
      throw error
    })
    return this.#opened
  }

  async #openJournal (): Promise<Journal> {
    const { file: database, maxBytes } = this.#options
    const { intents, journal: number } = await this.#writer.call<OpenedLog>('openLog')
    for (const id of intents) this.#unknown.add(id)
    this.#lastIntent = Math.max(this.#lastIntent, intents.at(-1) ?? 0)
    const fileBytes = Math.min(maxJournalBytes, maxBytes / 8)
    this.#journal = new Journal(number, { database, fileBytes, underWay: () => this.#inProgress.size })
    return this.#journal
  }

  #isFull ({ bytes }: Journal): boolean {
    return this.#size.log + bytes - this.#size.journal > this.#options.maxBytes
  }

  /** @throws {Failure} BACKEND_UNAVAILABLE */
  async #makeRoom (journal: Journal): Promise<void> {
    const { end, bytes } = journal
    try {
      this.#size = {
        log: await this.#writer.call<number>('makeRoom', end, this.#options.maxBytes),
        journal: bytes
      }
      if (this.#isFull(journal)) throw new Error('the event log has its maximum size')
    } catch (error) {
      this.#handleFailure(error)
      throw eventLogUnavailable(error)
    }
  }

  /** @throws {Failure} BACKEND_UNAVAILABLE */
  #append (journal: Journal, line: string): void {
    try {
      journal.append(line)
      this.#handleSuccess()
    } catch (error) {
      this.#handleFailure(error)
      throw eventLogUnavailable(error)
    }
  }

  async #commit (journal: Journal, line: string): Promise<void> {
    try {
      await journal.commit(line)
      this.#handleSuccess()
    } catch (error) {
      this.#handleFailure(error)
      throw error
    }
  }

  #handleSuccess (): void {
    if (this.#isFailing) this.#options.log.info('the event log can be written again')
    this.#isFailing = false
  }

  #handleFailure (error: unknown): void {
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

function eventLogUnavailable (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The gateway cannot write its event log at the moment. Nothing was changed. Try again later.',
    cause
  })
}

function unconfirmedChange (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message:
      'The gateway cannot write its event log at the moment. Before you repeat the change, check whether it was made.',
    cause
  })
}
