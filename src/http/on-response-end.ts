import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Tells once of the end of a request, and whether its whole response went out or its client left before. The
 * framework's hooks tell of one that left once, twice or never: that depends on how far it had come.
 */
export function onResponseEnd (
  { raw: { socket } }: FastifyRequest,
  { raw }: FastifyReply,
  onEnd: (isCompleted: boolean) => void
): void {
  let isCompleted = false
  // A response counts as finished, too, when its last piece could not be written. Asked before the server lets go of
  // the connection.
  raw.prependOnceListener('finish', () => {
    isCompleted = !socket.destroyed && !socket.errored
  })
  raw.once('close', () => onEnd(isCompleted))
}
