import { TextDecoder } from 'node:util'
import { createParser } from 'eventsource-parser'
import { ControlPlaneError } from './link.js'

/**
 * The longest message, in characters. A batch of a thousand changes has about 0.4 million, or 1.2 million with the
 * longest names.
 */
const maxMessage = 4_194_304

/**
 * The data of each server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html). An incomplete
 * event at the end is ignored.
 * @throws {ControlPlaneError} if the bytes are not server-sent events, or a message is too long
 */
export async function * parseEventStream (bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const messages: string[] = []
  let isBroken = false
  const parser = createParser({
    maxBufferSize: maxMessage,
    onEvent: ({ event, data }) => {
      messages.push(data)
      isBroken ||= event !== undefined
    },
    onError: () => { isBroken = true }
  })
  for await (const chunk of bytes) {
    parser.feed(decodeChunk(decoder, chunk))
    if (isBroken) {
      throw new ControlPlaneError(
        "the control plane's response is not a change feed; check control.url and any proxy in between"
      )
    }
    yield * messages.splice(0)
  }
}

function decodeChunk (decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    throw new ControlPlaneError('the control plane sent bytes that are not UTF-8')
  }
}

/** A value as a server-sent event. Its JSON has no line breaks. */
export function formatEvent (value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
