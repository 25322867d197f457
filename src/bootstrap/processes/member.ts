import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Check } from '../../http/health.js'
import {
  storageUnavailable, type Intent, type RequestStorage, type RequestToClaim, type Result, type StoredRequest
} from '../../idempotency/keyed-requests.js'
import { FairConcurrencyLimiter, type Permit } from '../../limits/concurrency-limiter.js'
import type { RateLimitStoreClass } from '../../limits/limiter.js'
import type { QuotaScope } from '../../limits/usage.js'
import type { MetricJson } from '../../observability/metrics/prometheus.js'
import { Channel, type Packets } from './channel.js'
import type { WindowCount, WindowName } from './shared-state.js'

/** The state of all processes, as the first one reports it. */
interface GroupState {
  readonly running: number
  readonly of: number
  /** Whether each process that listens can serve: a client cannot choose the one that it reaches. */
  readonly areReady: boolean
}

/** One of several processes of a gateway, and what it has in common with the others. */
export interface ProcessMember {
  /** 1, 2, 3 … The first has the data directory itself. */
  readonly number: number
  readonly of: number
  /** The port of all processes, once the first of them has one. */
  readonly port: number | undefined
  /** A store for a rate limiter, of the counts of all processes. */
  readonly windows: (name: WindowName) => RateLimitStoreClass
  /** Limits the concurrent requests of all processes; in this one, organizations take turns. */
  readonly concurrency: (permits: number) => Pick<FairConcurrencyLimiter, 'acquire'>
  /** The requests with an Idempotency-Key of all processes. */
  readonly requests: RequestStorage
  /** Degraded while a process is missing. */
  readonly check: () => Check
  readonly areReady: () => boolean
  /** Reports to the first process from now on whether this one can serve. */
  readonly reportReadiness: (canServe: () => boolean) => void
  /** Sends the metrics of this process whenever the first process requests them. */
  readonly serveMetrics: (metrics: () => Promise<readonly MetricJson[]>) => void
  /** Reports to the first process that this one serves. */
  readonly reportStarted: (port: number) => void
  /** Whether an earlier process with this number ended. */
  readonly isRestarted: boolean
}

/** The first process's description of one that joins. */
export interface Joined extends Pick<ProcessMember, 'number' | 'of' | 'isRestarted'> {
  readonly port?: number
}

/** How this process speaks to the first one. */
interface MemberParts {
  readonly version: string
  /** Called when all processes are to end. */
  readonly onStop: () => void
}

const lookEveryMs = 250

/** Joins the processes of a gateway. @throws {ChannelError} if the first process runs another version */
export async function joinProcesses ({ version, onStop }: MemberParts): Promise<ProcessMember> {
  let state: GroupState = { running: 1, of: 1, areReady: true }
  let readMetrics = async (): Promise<readonly MetricJson[]> => []
  const channel = new Channel(packets => process.send!(packets), {
    stop: onStop,
    state: (latest: GroupState) => { state = latest },
    metrics: () => readMetrics()
  })
  process.on('message', (packets: Packets) => channel.receive(packets))
  process.once('disconnect', () => channel.close())
  const { number, of, isRestarted, port } = await channel.call<Joined>('join', version)
  return {
    number,
    of,
    port,
    windows: name => createSharedWindows(channel, name),
    concurrency: permits => createSharedConcurrency(channel, permits),
    requests: createSharedRequests(channel),
    check: () => ({ status: state.running === of ? 'ok' : 'degraded', running: state.running, of }),
    areReady: () => state.areReady,
    reportReadiness: canServe => {
      let reported: boolean | undefined
      const report = () => {
        const isReady = canServe()
        if (isReady !== reported) channel.notify('ready', isReady)
        reported = isReady
      }
      report()
      setInterval(report, lookEveryMs).unref()
    },
    serveMetrics: source => { readMetrics = source },
    reportStarted: port => channel.notify('started', port),
    isRestarted
  }
}

/** The counts of all processes. If the first one is gone this process ends too, so there is no other count to use. */
function createSharedWindows (channel: Channel, name: WindowName): RateLimitStoreClass {
  type Callback = Parameters<FastifyRateLimitStore['incr']>[1]
  const settle = (counted: Promise<WindowCount>, callback: Callback) => {
    counted.then(count => callback(null, count), (error: Error) => callback(error))
  }
  return class SharedWindows implements FastifyRateLimitStore {
    incr (key: string, callback: Callback, windowMs: number): void {
      settle(channel.call('count', name, key, windowMs), callback)
    }

    read (key: string, callback: Callback): void {
      settle(channel.call('readCount', name, key), callback)
    }

    child (): this {
      return this
    }
  }
}

/** A request needs a permit of this process, which gives organizations their turns, and then one of all processes. */
function createSharedConcurrency (channel: Channel, permits: number): Pick<FairConcurrencyLimiter, 'acquire'> {
  const own = new FairConcurrencyLimiter({ permits })
  let latest = 0
  return {
    acquire: ({ tenantId, mode }: QuotaScope): Permit => {
      const permit = own.acquire({ tenantId, mode })
      if (permit.isAdmitted === false) return permit
      const id = ++latest
      let hasLeft = false
      let isRequested = false
      const requestPermit = async (isAdmittedHere: boolean): Promise<boolean> => {
        if (!isAdmittedHere || hasLeft) return false
        isRequested = true
        return await channel.call<boolean>('acquire', id, { tenantId, mode })
      }
      return {
        isAdmitted: permit.isAdmitted === true ? requestPermit(true) : permit.isAdmitted.then(requestPermit),
        leave: () => {
          if (hasLeft) return
          hasLeft = true
          permit.leave()
          if (isRequested) channel.notify('leave', id)
        }
      }
    }
  }
}

type Claimed = Omit<StoredRequest, 'firstSeenAt'> & { readonly firstSeenAt: number }

function createSharedRequests (channel: Channel): RequestStorage {
  const call = <T>(name: string, ...args: readonly unknown[]): Promise<T> =>
    channel.call<T>(name, ...args).catch(error => { throw storageUnavailable(error) })
  return {
    claim: async ({ name, fingerprint, now }: RequestToClaim) => {
      const claimed = await call<Claimed | 'reused' | 'in-progress'>('claim', name, fingerprint, now.getTime())
      return typeof claimed === 'string' ? claimed : { ...claimed, firstSeenAt: new Date(claimed.firstSeenAt) }
    },
    intend: (name: string, intent: Intent | undefined) => call('intend', name, intent ?? null),
    finish: (name: string, result: Result) => call('finish', name, result),
    release: (name: string) => call('release', name),
    close: () => {}
  }
}
