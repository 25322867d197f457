import { writeSync } from 'node:fs'
import type { FastifyServerOptions } from 'fastify'

type LogOptions = Exclude<FastifyServerOptions['logger'], boolean | undefined>

/**
 * How the log is written: JSON lines to standard error. Only the kind and location of an error are logged, since
 * engines and libraries put pieces of their input into the rest.
 */
export function buildLogOptions (level: string): LogOptions {
  return {
    level,
    serializers: {
      err: serializeError as (error: Error) => never,
      req: ({ method }) => ({ method }),
      res: ({ statusCode }) => ({ statusCode })
    },
    redact: ['headers["x-api-key"]', 'headers.authorization', 'headers.cookie']
  }
}

/** An error as the log may show it; plain facts, which our own code chose, stay unchanged. */
export function serializeError (error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, code, message, stack = '', cause } = error as NodeJS.ErrnoException & { cause?: unknown }
  return {
    type: name,
    ...(code === undefined ? {} : { code }),
    ...(mayQuoteInput(error) ? {} : { message }),
    stack: stack.split('\n').filter(line => /^\s+at /.test(line)).join('\n'),
    ...(cause === undefined ? {} : { cause: serializeError(cause) })
  }
}

/**
 * Whether the message repeats input: a parser's the text, the framework's the URL. Kind and code are enough for these.
 */
function mayQuoteInput (error: NodeJS.ErrnoException): boolean {
  return error instanceof SyntaxError || String(error.code).startsWith('FST_ERR')
}

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
export function createLogDestination (fd: number, now: () => Date): { readonly write: (line: string) => void } {
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
