import { SingleBar } from 'cli-progress'
import type { WalkProgress } from '../ownership-scan/audit.js'
import type { Streams } from './context.js'

/** The progress display of a scan of a datastore; shows nothing where standard error is not a terminal. */
interface ShownProgress {
  readonly show: (progress: WalkProgress) => void
  readonly end: () => void
}

/** A bar that grows with the records that were read. */
export function walkProgress ({ stderr }: Pick<Streams, 'stderr'>): ShownProgress {
  if (stderr.isTTY !== true) return { show: () => {}, end: () => {} }
  const bar = new SingleBar({
    stream: stderr,
    format: '[{bar}] {percentage}% | {value} of {total} records | {type}',
    barCompleteChar: '=',
    barIncompleteChar: '-',
    clearOnComplete: true,
    // The two change the terminal for as long as the bar runs, and would not change it back when the command is killed.
    linewrap: true,
    gracefulExit: false
  })
  let isShown = false
  return {
    show: ({ seen, total, type }) => {
      if (!isShown) bar.start(total, 0, { type })
      isShown = true
      // The count from before the scan is exceeded when records are seen twice or added meanwhile.
      bar.setTotal(Math.max(total, seen))
      bar.update(seen, { type })
    },
    end: () => { if (isShown) bar.stop() }
  }
}
