import type { Dispatcher } from 'undici'

/** The seconds that a response requests to wait; undefined without the header or for a date, which no gateway sends. */
export function retryAfterOf ({ headers }: Pick<Dispatcher.ResponseData, 'headers'>): number | undefined {
  const header = headers['retry-after']
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : undefined
}
