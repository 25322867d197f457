import { writeSync } from 'node:fs'

/**
 * How often the write of a line is retried while the reader's buffer is full, and the pause before each retry.
 */
const maxTries = 20
const pauseMs = 10

const pausing = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes the lines of a log to an open file, such as standard error. A line for which there is no room or no reader is
 * dropped, which the next line that can be written reports: a log must not delay the process that it describes. Pino's
 * own destination retries for ever.
 */
export function logDestination (fd: number, now: () => Date): { readonly write: (line: string) => void } {
  let lost = 0
  let isCut = false
  return {
    write: line => {
      const summary =
        lost === 0
          ? ''
          : `${isCut ? '\n' : ''}${JSON.stringify({ level: 40, time: now().getTime(), lines: lost, msg: 'log lines before this one could not be written' })}\n`
      const bytes = Buffer.from(summary + line)
      const written = write(fd, bytes, lost === 0 ? maxTries : 0)
      if (written > 0) isCut = written < bytes.length && bytes[written - 1] !== newline
      if (written < Buffer.byteLength(summary)) lost++
      else lost = written < bytes.length ? 1 : 0
    }
  }
}

const newline = 0x0a

/** @returns how many bytes were written */
function write (fd: number, bytes: Buffer, triesLeft: number): number {
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || triesLeft-- <= 0) break
      Atomics.wait(pausing, 0, 0, pauseMs)
    }
  }
  return written
}
