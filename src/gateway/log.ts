import type { FastifyServerOptions } from 'fastify'

type LogOptions = Exclude<FastifyServerOptions['logger'], boolean | undefined>

/**
 * How the log is written: JSON lines to standard error. What an error carries beside its kind and place is left out, since
 * engines and libraries put pieces of what they read into it.
 */
export function logOptions (level: string): LogOptions {
  return {
    level,
    serializers: { err: describe as (error: Error) => never },
    redact: ['headers["x-api-key"]', 'headers.authorization', 'headers.cookie', 'req.headers', 'res.headers']
  }
}

/** An error as the log may show it; plain facts, which our own code chose, stay as they are. */
export function describe (error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, code, message, stack = '', cause } = error as NodeJS.ErrnoException & { cause?: unknown }
  return {
    type: name,
    ...(code === undefined ? {} : { code }),
    // The message of a SyntaxError quotes the text that was parsed.
    ...(error instanceof SyntaxError ? {} : { message }),
    stack: stack.split('\n').filter(line => /^\s+at /.test(line)).join('\n'),
    ...(cause === undefined ? {} : { cause: describe(cause) })
  }
}
