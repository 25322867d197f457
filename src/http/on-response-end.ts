import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Reports once the end of a request, and whether its complete response was sent or its client disconnected before. The
 * framework's hooks report a disconnect once, twice or never, depending on the progress of the request.
 */
export function onResponseEnd (
  { raw: { socket } }: FastifyRequest,
  { raw }: FastifyReply,
  onEnd: (isCompleted: boolean) => void
): void {
  let isCompleted = false
  // A response counts as finished, too, when its last chunk could not be written. Checked before the server releases
  // the connection.
  raw.prependOnceListener('finish', () => {
    isCompleted = !socket.destroyed && !socket.errored
  })
  raw.once('close', () => onEnd(isCompleted))
}
