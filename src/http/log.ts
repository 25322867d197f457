import type { FastifyServerOptions } from 'fastify'

type LogOptions = Exclude<FastifyServerOptions['logger'], boolean | undefined>

/**
 * How the log is written: JSON lines to standard error. Only the kind and location of an error are logged, since
 * engines and libraries put pieces of their input into the rest.
 */
export function logOptions (level: string): LogOptions {
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
