import { toFailure } from '../envelope/error-handlers.js'
import type { JobKind, Progress } from './model/job.js'
import type { Measurements } from '../observability/metrics/measurements.js'
import { PermanentFailure, type JobHandler } from './job-context.js'

type JobReporters = Pick<Measurements, 'workEnded' | 'recordsDone'>

/**
 * Wraps a handler with metrics of its outcome and its records. A record is counted once, even if another run resumes
 * the job.
 */
export function withJobMetrics (
  kind: JobKind, doJob: JobHandler, { workEnded, recordsDone }: JobReporters
): JobHandler {
  return async work => {
    let before: Progress = work.job.progress
    const save: typeof work.save = async change => {
      await work.save(change)
      if (change.progress === undefined) return
      recordsDone({
        kind,
        processed: countIncrease(before.processed, change.progress.processed),
        failed: countIncrease(before.failed, change.progress.failed)
      })
      before = change.progress
    }
    try {
      await doJob({ ...work, save })
      work.signal.throwIfAborted()
      workEnded({ kind, outcome: 'completed' })
    } catch (error) {
      workEnded({ kind, outcome: work.signal.aborted ? 'interrupted' : isFinal(error) ? 'failed' : 'error' })
      throw error
    }
  }
}

const countIncrease = (before: number, now: number): number => Math.max(0, now - before)

function isFinal (error: unknown): boolean {
  return error instanceof PermanentFailure || toFailure(error).status < 500
}
