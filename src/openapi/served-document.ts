import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type {} from '@fastify/accepts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { JsonSchema } from './components.js'

interface Printed { readonly plain: Buffer, readonly zipped: Buffer, readonly tag: string }

/** Sends a document that is made and compressed when it is first asked for, and kept as bytes: anybody may ask for it, and it is large. */
export function documentSender (document: () => JsonSchema): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let printed: Promise<Printed> | undefined
  return async (request, reply) => {
    const { plain, zipped, tag } = await (printed ??= print(document))
    reply.headers({ etag: tag, 'cache-control': 'no-cache', vary: 'accept-encoding' })
    if (request.headers['if-none-match'] === tag) return await reply.code(304).send()
    reply.type('application/json; charset=utf-8')
    if (request.accepts().encoding(['gzip', 'identity']) !== 'gzip') return await reply.send(plain)
    return await reply.header('content-encoding', 'gzip').send(zipped)
  }
}

async function print (document: () => JsonSchema): Promise<Printed> {
  const plain = Buffer.from(JSON.stringify(document()))
  // Weak, since the same document also goes out compressed.
  return { plain, zipped: await promisify(gzip)(plain), tag: `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"` }
}
