import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { eventsPerBatch, type ChangeEvent, type EventBatch } from '../events/event.js'
import { ChangeResolver, type FindMade } from '../events/change-resolver.js'
import type { LogState } from '../events/log/file.js'
import { EventLog } from '../events/log.js'
import type { Check } from '../http/health.js'
import { listBrokenFiles } from '../control-plane/outbox/file-writer.js'
import { countLines, type BatchAck } from '../control-plane/outbox/batch.js'
import { BatchSender } from '../control-plane/outbox/sender.js'
import { BackgroundTask } from '../time/background-task.js'
import type { Disposables } from './parts.js'

/** The event log of a gateway, which is sent to its control plane. */
export interface OpenEvents {
  readonly recorderOf: EventLog['createRecorder']
  /** Starts to determine the outcome of changes without one. Call it once datastores can be reached. */
  readonly resolveWith: (findCreated: FindMade) => void
  readonly check: () => EventsCheck
  /** The number of events written since the start, and those the control plane took. */
  readonly counts: () => EventCounts
}

/** The numbers of events since the start, and the state of the log. */
interface EventCounts {
  readonly appended: number
  readonly sent: number
  readonly oldestUnsentSeconds: number
  readonly unresolved: number
  readonly bytes: number
}

interface EventsCheck extends Check {
  readonly unresolvedChanges: number
  readonly oldestUnsentSeconds: number
  readonly failedSendings: number
  readonly broken: readonly string[]
}

/** Events that wait so long for the control plane are worth a look. */
const noticedAfterSeconds = 60

const stateEveryMs = 2_000

interface EventsParts {
  readonly link: Pick<ControlPlaneClient, 'sendEvents'>
  readonly now: () => Date
  readonly log: FastifyBaseLogger
}

/** Opens the log in the data directory, in any state, and sends it from now on. */
export async function openEvents (
  { dataDirectory, events: { maxBytes } }: Config,
  { link, now, log }: EventsParts,
  closers: Disposables
): Promise<OpenEvents> {
  const file = join(dataDirectory, 'events.db')
  const eventLog = closers.add(new EventLog({ file, maxBytes, now, log }))
  await eventLog.open()
  const { sender, sent } = sendEvents(eventLog, { link, log }, closers)
  const state = watchState(eventLog, closers)
  const getOldestUnsentSeconds = (): number => {
    const { oldestUnsent } = state()
    return oldestUnsent === undefined ? 0 : Math.max(0, (now().getTime() - Date.parse(oldestUnsent)) / 1_000)
  }
  return {
    recorderOf: source => eventLog.createRecorder(source),
    resolveWith: findCreated => {
      const resolver = new ChangeResolver({ eventLog, findCreated, now, log })
      closers.add({ close: () => resolver.stop() })
    },
    check: () => {
      const broken = listBrokenFiles(file)
      const isOk = !eventLog.isFailing && broken.length === 0 && getOldestUnsentSeconds() < noticedAfterSeconds
      return {
        status: isOk ? 'ok' : 'degraded',
        unresolvedChanges: eventLog.unresolved,
        oldestUnsentSeconds: Math.round(getOldestUnsentSeconds()),
        failedSendings: sender.failures,
        broken
      }
    },
    counts: () => ({
      appended: eventLog.appended,
      sent: sent(),
      oldestUnsentSeconds: getOldestUnsentSeconds(),
      unresolved: eventLog.unresolved,
      bytes: state().bytes
    })
  }
}

/** Sends the recorded events from now on. */
function sendEvents (
  eventLog: EventLog,
  { link, log }: Omit<EventsParts, 'now'>,
  closers: Disposables
): { readonly sender: Pick<BatchSender<ChangeEvent, BatchAck>, 'failures'>, readonly sent: () => number } {
  let sent = 0
  const sender = new BatchSender({
    what: 'events',
    ledger: eventLog,
    linesPerBatch: eventsPerBatch,
    send: async (batch: EventBatch, signal: AbortSignal) => {
      const receipt = await link.sendEvents(batch, signal)
      if (receipt.batchId === batch.batchId) sent += countLines(batch)
      return receipt
    },
    log,
    everyMs: 250
  })
  closers.add({ close: () => sender.stop() })
  return { sender, sent: () => sent }
}

/** The state of the log, as it was some seconds ago at most. */
function watchState (eventLog: EventLog, closers: Disposables): () => LogState {
  let state: LogState = { bytes: 0, intents: 0 }
  const watching = new BackgroundTask(async () => {
    state = await eventLog.readState().catch(() => state)
    return stateEveryMs
  })
  closers.add({ close: () => watching.stop() })
  return () => state
}
