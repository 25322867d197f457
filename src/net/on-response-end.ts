import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

type OnEnd = (isCompleted: boolean) => void

/** On the response itself, since two listeners for each observer would cost every request. */
const observers = Symbol('observers of the end')

interface ObservedResponse extends ServerResponse { [observers]?: OnEnd[] }

/**
 * Reports once the end of a request, and whether its complete response was sent or its client disconnected before. The
 * framework's hooks report a disconnect once, twice or never, depending on the progress of the request.
 */
export function onResponseEnd (
  { raw: { socket } }: Pick<FastifyRequest, 'raw'>,
  { raw }: Pick<FastifyReply, 'raw'>,
  onEnd: OnEnd
): void {
  const response: ObservedResponse = raw
  if (response[observers] !== undefined) {
    response[observers].push(onEnd)
    return
  }
  const all = response[observers] = [onEnd]
  let isCompleted = false
  // A response counts as finished, too, when its last chunk could not be written. Checked before the server releases
  // the connection.
  raw.prependOnceListener('finish', () => {
    isCompleted = !socket.destroyed && !socket.errored
  })
  raw.once('close', () => {
    for (const onEnd of all) onEnd(isCompleted)
  })
}
