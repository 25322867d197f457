import { TextDecoder } from 'node:util'
import { createParser } from 'eventsource-parser'
import { LinkFailed } from './failed.js'

/** A batch of a thousand changes takes about 0.4 million characters, and 1.2 million where each name is as long as it may be. */
const longestMessage = 4_194_304

/**
 * The data of each server-sent event: https://html.spec.whatwg.org/multipage/server-sent-events.html. An event whose end never
 * comes is left.
 * @throws {LinkFailed} for bytes that are no such events, or one that is too long
 */
export async function * messagesIn (bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const messages: string[] = []
  let isBroken = false
  const parser = createParser({
    maxBufferSize: longestMessage,
    onEvent: ({ event, data }) => {
      messages.push(data)
      isBroken ||= event !== undefined
    },
    onError: () => { isBroken = true }
  })
  for await (const chunk of bytes) {
    parser.feed(decoded(decoder, chunk))
    if (isBroken) throw new LinkFailed('the control plane\'s response is not a change feed; check control.url and any proxy in between')
    yield * messages.splice(0)
  }
}

function decoded (decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    throw new LinkFailed('the control plane sent bytes that are not UTF-8')
  }
}

/** A value as a server-sent event; its JSON has no line break. */
export function eventOf (value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
