import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type {} from '@fastify/accepts'
import type { FastifyReply, FastifyRequest } from 'fastify'

interface Printed { readonly plain: Buffer, readonly zipped: Buffer, readonly tag: string }

/**
 * A large public document. It is generated, serialized and compressed on the first request, and cached until its source
 * changes.
 */
export class ServedDocument<Source = void> {
  #printed: { readonly source: Source; readonly print: Promise<Printed> } | undefined

  constructor (
    private readonly document: (source: Source) => unknown,
    private readonly source?: () => Promise<Source>
  ) {}

  /** The document as JSON text. */
  async text (): Promise<string> {
    return (await this.#print()).plain.toString()
  }

  /**
   * Sends it, compressed if the client accepts that, or 304 if the client has it. `vary` lists the headers on which the
   * response depends.
   */
  async send (
    request: FastifyRequest,
    reply: FastifyReply,
    {
      type = 'application/json; charset=utf-8',
      vary = 'accept-encoding'
    }: { readonly type?: string; readonly vary?: string } = {}
  ): Promise<FastifyReply> {
    const { plain, zipped, tag } = await this.#print()
    reply.headers({ etag: tag, 'cache-control': 'no-cache', vary })
    if (request.headers['if-none-match'] === tag) return await reply.code(304).send()
    reply.type(type)
    if (request.accepts().encoding(['gzip', 'identity']) !== 'gzip') return await reply.send(plain)
    return await reply.header('content-encoding', 'gzip').send(zipped)
  }

  async #print (): Promise<Printed> {
    const source = (await this.source?.()) as Source
    if (this.#printed === undefined || this.#printed.source !== source) {
      this.#printed = { source, print: print(this.document(source)) }
    }
    return await this.#printed.print
  }
}

async function print (document: unknown): Promise<Printed> {
  const plain = Buffer.from(JSON.stringify(document))
  // Weak, since the document is also sent compressed.
  return {
    plain,
    zipped: await promisify(gzip)(plain),
    tag: `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  }
}
