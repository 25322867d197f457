import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config/schema.js'
import type { ControlPlaneClient } from '../../control-plane/sync/link.js'
import type { FindMade } from '../../events/change-resolver.js'
import type { Disposables } from '../parts.js'
import { openEvents } from '../events.js'
import { openUsage } from '../usage.js'
import { runsJobThread } from '../job-thread/job-thread.js'
import { jobThreadDirectory, processDirectory } from '../own-config.js'
import type { ProcessMember } from './member.js'

interface LeftOverParts {
  readonly link: Pick<ControlPlaneClient, 'sendUsage' | 'sendEvents'>
  readonly findMade: FindMade
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  readonly member: Pick<ProcessMember, 'number'> | undefined
}

/**
 * Sends what processes with a higher number than there are now had counted and written down, and the threads of bulk
 * jobs where there are none now: a gateway that is started with fewer processes than before loses nothing. The first
 * process does it.
 */
export async function sendLeftOver (
  config: Config, { findMade, member, ...parts }: LeftOverParts, closers: Disposables
): Promise<void> {
  if (member !== undefined && member.number > 1) return
  for (const dataDirectory of leftDirectories(config)) {
    const own = { ...config, dataDirectory }
    if (existsSync(join(dataDirectory, 'usage.db'))) closers.add(await openUsage(own, parts))
    if (existsSync(join(dataDirectory, 'events.db'))) {
      const events = await openEvents(own, parts, closers)
      events.resolveWith(findMade)
    }
  }
}

/** The directories of processes and threads that are no more. */
function leftDirectories (config: Config): string[] {
  const { dataDirectory, processes } = config
  const numbers = readdirSync(dataDirectory).flatMap(name => /^process-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
  const ofNumber = (number: number): string => processDirectory(dataDirectory, number)
  const left = numbers.filter(number => number > processes).map(ofNumber)
  const withoutThread = runsJobThread(config) ? left : [dataDirectory, ...numbers.map(ofNumber)]
  return [...left, ...withoutThread.map(jobThreadDirectory)]
}
