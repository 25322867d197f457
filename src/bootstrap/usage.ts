import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { CountUsage } from '../http/count-usage.js'
import type { Check } from '../http/health.js'
import { UsageLedger } from '../limits/usage-ledger/ledger.js'
import { MonthlyUsage } from '../limits/usage-ledger/month-counts.js'
import { linesPerBatch } from '../limits/usage.js'
import { BatchSender } from '../control-plane/outbox/sender.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'

/** The usage ledger of a gateway, which is sent to its control plane. */
export interface OpenUsage {
  readonly count: CountUsage
  readonly months: MonthlyUsage
  /** Whether everything that is counted gets to the disk and to the control plane. */
  readonly check: () => UsageCheck
  /** The ledger retains the lines that were not sent. */
  readonly close: () => Promise<void>
}

interface UsageCheck extends Check {
  readonly linesInMemory: number
  readonly lostRequests: number
  readonly failedSendings: number
}

/** Sending that fails so often, for about a minute, is worth a look. */
const noticedFailures = 7

/** Opens the ledger in the data directory, in any state, and sends it from now on. */
export async function openUsage (
  { dataDirectory }: Config,
  {
    link,
    now,
    log
  }: { readonly link: Pick<ControlPlaneClient, 'sendUsage'>; readonly now: () => Date; readonly log: FastifyBaseLogger }
): Promise<OpenUsage> {
  const ledger = new UsageLedger({ file: join(dataDirectory, 'usage.db'), now, log })
  await ledger.opened
  const months = new MonthlyUsage({ ledger })
  const sender = new BatchSender({
    what: 'usage',
    linesPerBatch,
    ledger,
    send: link.sendUsage,
    log,
    onSettled: ({ months: totals = [] }) => months.learn(totals)
  })
  return {
    count: (use, at) => ledger.record(use, at),
    months,
    check: () => {
      const { status, ...details } = ledger.check()
      return {
        status: sender.failures < noticedFailures ? status : 'degraded',
        ...details,
        failedSendings: sender.failures
      }
    },
    close: async () => {
      await sender.stop()
      await ledger.close()
    }
  }
}
