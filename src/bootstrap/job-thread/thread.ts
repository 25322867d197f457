/** The thread of the bulk jobs. Started by {@link JobThread}. */
import { parentPort, workerData } from 'node:worker_threads'
import { pino } from 'pino'
import { ensureDirectory } from '../../files/ensure.js'
import { createLogDestination, buildLogOptions } from '../../http/log.js'
import type { CountUsage } from '../../http/count-usage.js'
import { toMonth } from '../../limits/month.js'
import type { ClaimedJob } from '../../jobs/model/job.js'
import type { StartedJob } from '../../jobs/running-job.js'
import type { ControlPlaneClient } from '../../control-plane/sync/link.js'
import { createInProcessChangeFeed, createLocalLink } from '../../control-plane/sync/local.js'
import type { Measurements } from '../../observability/metrics/measurements.js'
import { openTraces } from '../../observability/tracing.js'
import { openJobStarter } from '../bulk.js'
import { getGatewayName, getOwnUrl, toJobThread } from '../own-config.js'
import { Disposables } from '../parts.js'
import { Channel, type Packets } from '../processes/channel.js'
import { openRecordAccess } from '../record-access.js'
import { reported, type KnownUsage, type ThreadData } from './job-thread.js'

const { config: ofGateway, ofAll, environment, version } = workerData as ThreadData
const config = toJobThread(ofGateway)
const now = (): Date => new Date()
const log = pino(buildLogOptions(config.logLevel), createLogDestination(2, now)).child({ thread: 'bulk jobs' })
const closers = new Disposables()
const running = new Map<string, Promise<StartedJob>>()

const port = parentPort!
const channel = new Channel(packets => port.postMessage(packets), {
  start: async (claimed: ClaimedJob, claimedAt: number, { month, used }: KnownUsage) => {
    const { id, owner } = claimed.job
    const started = ready.then(({ startJob, usage: { months } }) => {
      months.expect(owner, month, used)
      return startJob(claimed, claimedAt - performance.timeOrigin)
    })
    running.set(id, started)
    try {
      await (await started).done
    } finally {
      // A lost job may have been claimed again.
      if (running.get(id) === started) running.delete(id)
    }
  },
  look: (id: string) => { running.get(id)?.then(job => job.checkForCancellation(), () => {}) },
  stop: (id: string) => { running.get(id)?.then(job => job.stop(), () => {}) },
  isWell: async () => (await opened).isWell(),
  close: async () => {
    await opened.catch(() => {})
    await closers.close()
  }
})
port.on('message', (packets: Packets) => channel.receive(packets))

const opened = open()
/** Jobs need a copy of the keys that is complete. */
const ready = opened.then(async parts => {
  await parts.keys.isCaughtUp
  return parts
})
// A thread that cannot work ends, so that the next job starts another one.
ready.catch(error => {
  log.error({ err: error }, 'the thread of the bulk jobs could not be opened')
  process.exit(1)
})

async function open () {
  ensureDirectory(config.dataDirectory)
  const traces = await openTraces({ environment, version }, closers)
  const link = await openLink()
  const metrics = createMeasurements()
  const parts = { environment, now, log, link, metrics, ...traces && { traces } }
  const access = await openRecordAccess(config, parts, closers)
  const { keys, usage, events, audit } = access
  const checks = [usage.check, events?.check, audit?.check]
  const counting = { ...usage, count: withProcessCount(usage.count) }
  return {
    keys,
    usage,
    startJob: openJobStarter(config, { ...access, usage: counting, link, url: getOwnUrl(config), now, log, metrics }),
    isWell: () => checks.every(check => check === undefined || check().status === 'ok')
  }
}

/** The control plane: its database, where this process has it open too. */
async function openLink (): Promise<ControlPlaneClient> {
  if (config.role === 'all') {
    const { openDatabase, toLinkedStore } = await import('../control-store.js')
    const store = await openDatabase(ofAll, { environment, now }, closers)
    // Another connection hears no changes of the process's own.
    const feed = createInProcessChangeFeed(store, { heartbeatMs: 1_000 })
    return createLocalLink({ ...toLinkedStore(store), feed }, getGatewayName(config.control))
  }
  const { openRemoteControl } = await import('../remote-control.js')
  return closers.add(openRemoteControl(config, { environment, log }))
}

/** Reports usage that is counted here to the process at once. */
const withProcessCount = (count: CountUsage): CountUsage => (use, at) => {
  count(use, at)
  const { tenantId, mode, isCounted } = use
  if (isCounted) channel.notify('counted', { tenantId, mode }, toMonth(at))
}

type Reported = Pick<Measurements, typeof reported[number]>

/** Reports the measurements of this thread to the process. */
function createMeasurements (): Reported {
  const report = (name: keyof Reported) => (value: unknown) => channel.notify('measure', name, value)
  const all = Object.fromEntries(reported.map(name => [name, report(name)])) as unknown as Reported
  return {
    ...all,
    incident: incident => {
      channel.notify('incident', incident.datastore)
      all.incident(incident)
    }
  }
}
