import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config/schema.js'
import type { ControlPlaneClient } from '../../control-plane/sync/link.js'
import type { FindMade } from '../../events/change-resolver.js'
import type { Disposables } from '../parts.js'
import { openEvents } from '../events.js'
import { openUsage } from '../usage.js'
import { hasJobThread } from '../job-thread/job-thread.js'
import { readProcessNumbers, getJobThreadDirectory, listWriterDirectories } from '../own-config.js'
import type { ProcessMember } from './member.js'

interface LeftOverParts {
  readonly link: Pick<ControlPlaneClient, 'sendUsage' | 'sendEvents'>
  readonly findCreated: FindMade
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  readonly member: Pick<ProcessMember, 'number'> | undefined
}

/**
 * Sends what processes with a higher number than there are now had counted and written down, and the threads of bulk
 * jobs where there are none now: a gateway that is started with fewer of them than before loses nothing. Each process
 * does it for its own thread, and the first one for processes that are no more.
 */
export async function sendLeftOver (
  config: Config, { findCreated, member, ...parts }: LeftOverParts, closers: Disposables
): Promise<void> {
  for (const dataDirectory of listLeftOverDirectories(config, member?.number)) {
    const own = { ...config, dataDirectory }
    if (existsSync(join(dataDirectory, 'usage.db'))) closers.add(await openUsage(own, parts))
    if (existsSync(join(dataDirectory, 'events.db'))) {
      const events = await openEvents(own, parts, closers)
      events.resolveWith(findCreated)
    }
  }
}

/** The directories of processes and threads that are no more. */
function listLeftOverDirectories (config: Config, number = 1): string[] {
  const { dataDirectory, processes } = config
  const ofThread = hasJobThread(config) ? [] : [getJobThreadDirectory(dataDirectory)]
  if (number > 1) return ofThread
  const left = readProcessNumbers(dataDirectory).filter(number => number > processes)
  return [...ofThread, ...listWriterDirectories(dataDirectory, left)]
}
