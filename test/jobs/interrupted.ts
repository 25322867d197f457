import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import { createExportHandler, type ExportParts } from '../../src/jobs/export/do-export.js'
import { JobInterrupted, type JobFiles, type JobContext } from '../../src/jobs/job-context.js'
import type { ExportRequest, Job, JobChange } from '../../src/jobs/model/job.js'
import { mappings } from '../../src/mappings/registry.js'

/**
 * Work on one job that can be interrupted as by the death of its process: bytes that were not flushed and changes that
 * were not saved are lost.
 */
export interface BreakableJob {
  /** The job as it was last saved. */
  readonly job: Job
  /** The bytes of each file on the disk. */
  readonly disk: ReadonlyMap<string, Buffer>
  readonly saves: Array<Omit<JobChange, 'end'>>
  /**
   * Works on it until its end, or until it is interrupted.
   * @param breaksAt the step at which the process dies: a write, or a flush or save of something new
   * @param saveEveryMs 0 for a save after each chunk
   */
  run(options?: {
    readonly breaksAt?: number
    readonly signal?: AbortSignal
    readonly saveEveryMs?: number
  }): Promise<'ended' | 'broken off'>
  /** Steps of all runs. */
  readonly steps: () => number
}

const died = new Error('the process died')

export function createBreakableJob (
  openExport: ExportParts['openExport'],
  request: Partial<ExportRequest>,
  tenantId: string
): BreakableJob {
  const disk = new Map<string, Buffer>()
  const saves: Array<Omit<JobChange, 'end'>> = []
  let job = buildJob(request, tenantId)
  let steps = 0
  return {
    get job () {
      return job
    },
    disk,
    saves,
    steps: () => steps,
    async run ({ breaksAt = Infinity, signal = new AbortController().signal, saveEveryMs } = {}) {
      let left = breaksAt
      const step = (): void => {
        steps++
        if (--left < 0) throw died
      }
      const work: JobContext = {
        job,
        files: createFiles(disk, step),
        signal,
        save: async change => {
          const next = JSON.parse(JSON.stringify({ ...job, ...change }))
          // Polls of a datastore that is not done yet are no step of the work.
          if (!isDeepStrictEqual(next, JSON.parse(JSON.stringify(job)))) step()
          signal.throwIfAborted()
          saves.push(change)
          job = next
        },
        log: pino({ level: 'silent' })
      }
      try {
        await createExportHandler({ openExport, mappings, ...(saveEveryMs !== undefined && { saveEveryMs }) })(work)
        return 'ended'
      } catch (error) {
        if (error === died) return 'broken off'
        throw error
      }
    }
  }
}

export const createInterruption = (why: JobInterrupted['why']): JobInterrupted => new JobInterrupted(why)

function buildJob (request: Partial<ExportRequest>, tenantId: string): Job {
  return {
    id: 'job-aaaaaaaaaaaaaaaaaaaaaaaaaa',
    owner: { tenantId, mode: 'test', keyId: 'key-1', keyName: 'a key', plan: 'pro', overage: true },
    status: 'processing',
    request: {
      kind: 'export',
      types: ['Patient', 'Observation'],
      format: 'fhir',
      level: 'system',
      url: 'http://gateway.test',
      ...request
    },
    storeId: 'store',
    fileKey: '',
    progress: { processed: 0, failed: 0 },
    files: [],
    errors: [],
    // So long ago that no clock is waited for.
    createdAt: new Date(Date.now() - 10_000).toISOString(),
    expiresAt: new Date().toISOString()
  }
}

/** Files that hold what was flushed and, as it may happen, half of what was not. */
function createFiles (disk: Map<string, Buffer>, step: () => void): JobFiles {
  return {
    write: async (name, from = 0) => {
      const before = disk.get(name) ?? Buffer.alloc(0)
      if (before.length < from) throw new Error('a job file is shorter than the position to continue from')
      let flushed = before.subarray(0, from)
      let pending = Buffer.alloc(0)
      disk.set(name, flushed)
      const flush = async (): Promise<void> => {
        if (pending.length > 0) step()
        flushed = Buffer.concat([flushed, pending])
        pending = Buffer.alloc(0)
        disk.set(name, flushed)
      }
      return {
        get bytes () { return flushed.length + pending.length },
        mark: 'mark',
        write: async bytes => {
          pending = Buffer.concat([pending, bytes])
          disk.set(name, Buffer.concat([flushed, pending.subarray(0, pending.length / 2)]))
          step()
        },
        flush,
        close: flush
      }
    },
    read: (name, { start = 0, end } = {}) => Readable.from([disk.get(name)!.subarray(start, end)]),
    size: async name => disk.get(name)?.length,
    requireRoom: async () => {},
    path: () => { throw new Error('an export has no database') },
    remove: async name => { disk.delete(name) }
  }
}
