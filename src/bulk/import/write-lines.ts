import { choose, type Chosen } from './choose.js'
import { Failure } from '../../envelope/failures.js'
import { end, failedEnd, type Errand } from './errand.js'
import { Pace } from './pace.js'
import { writeBatch } from './write-batch.js'

/** Writes all lines that are not written, several transactions at a time, each line after those that it refers to. */
export async function writeLines (errand: Errand): Promise<void> {
  const pace = new Pace()
  const underWay = new Map<Promise<void>, readonly number[]>()
  const trouble: { error?: unknown } = {}
  try {
    while (trouble.error === undefined) {
      errand.signal.throwIfAborted()
      const chosen = underWay.size < pace.limit ? next(errand, new Set([...underWay.values()].flat()), pace) : undefined
      if (chosen !== undefined && chosen.lines.length > 0) {
        const batch: Promise<void> = writeBatch(errand, chosen.lines, pace).catch((error: unknown) => { trouble.error ??= error }).finally(() => underWay.delete(batch))
        underWay.set(batch, chosen.lines.map(({ line }) => line))
      } else if (underWay.size > 0) {
        await Promise.race(underWay.keys())
      } else if (chosen === undefined || chosen.doomed.length === 0) break
    }
  } finally {
    await Promise.all(underWay.keys())
  }
  if (trouble.error !== undefined) throw trouble.error
}

/** The next lines to write, after those were ended that refer to one which failed. */
function next (errand: Errand, underWay: ReadonlySet<number>, pace: Pace): Chosen {
  const chosen = choose(errand.index, underWay, pace.bounds)
  if (chosen.doomed.length > 0) end(errand, chosen.doomed.map(doomed => failedEnd(errand, doomed.line, failureOfDoomed(errand, doomed))))
  return chosen
}

/** What stood in the way of the line that this one refers to stands in its way as well, when it is nothing about the line. */
function failureOfDoomed ({ seal }: Errand, { because: { line, result } }: Chosen['doomed'][number]): Failure {
  const { code } = seal.open(line, result!)
  const says = `It refers to line ${line} of this import, which failed.`
  if (code === 'MONTHLY_QUOTA_EXCEEDED' || code === 'SANDBOX_QUOTA_EXCEEDED') return new Failure(code)
  return new Failure('VALIDATION_ERROR', { message: says })
}
