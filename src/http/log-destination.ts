import { writeSync } from 'node:fs'

/**
 * How often a line is tried again while whoever reads has no room for it at the moment, and how long is waited each
 * time.
 */
const maxTries = 20
const pauseMs = 10

const pausing = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes the lines of a log to an open file, such as standard error. What finds no room, or nobody who reads, is left
 * out and told of with the next line that can be written: a log must not hold up what it is about. Pino's own
 * destination tries for ever.
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
