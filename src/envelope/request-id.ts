import type { IncomingMessage } from 'node:http'
import { uuidv7 } from 'uuidv7'

const kept = /^[A-Za-z0-9._-]{1,64}$/

/** The id under which a request is logged and answered: the client's own when it has the form, otherwise a new one that sorts by time. */
export function requestId ({ headers }: Pick<IncomingMessage, 'headers'>, newId: () => string = uuidv7): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && kept.test(sent) ? sent : newId()
}
