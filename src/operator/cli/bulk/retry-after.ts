import type { Dispatcher } from 'undici'

/** For how many seconds a response asks to wait; undefined if it says nothing, or a date, which no gateway sends. */
export function retryAfterOf ({ headers }: Pick<Dispatcher.ResponseData, 'headers'>): number | undefined {
  const header = headers['retry-after']
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : undefined
}
