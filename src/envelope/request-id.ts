import type { IncomingMessage } from 'node:http'
import { uuidv7 } from 'uuidv7'

const validRequestId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * The id of a request in the log and the response: the client's x-request-id if it is well-formed, otherwise a new
 * UUIDv7.
 */
export function requestId ({ headers }: Pick<IncomingMessage, 'headers'>, newId: () => string = uuidv7): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && validRequestId.test(sent) ? sent : newId()
}
