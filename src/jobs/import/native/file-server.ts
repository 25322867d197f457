import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../../../envelope/failures.js'

/** Files that one import of a datastore may fetch, by their types. */
export type OfferedFiles = ReadonlyMap<string, () => Readable>

/** The files that a datastore may fetch during one import, and its credentials. */
interface Offer {
  readonly files: ReadonlyArray<{ readonly type: string, readonly url: string }>
  /** User and password, with a colon between. */
  readonly credentials: string
  /** Lets the datastore fetch the files; its requests wait until then. */
  readonly open: () => void
  /** From now on these URLs return nothing. */
  readonly close: () => void
}

interface Open { readonly files: OfferedFiles, readonly credentials: Buffer, readonly isOpen: Promise<boolean> }

const prefix = '/bulk-import'
const secretBytes = 32

/**
 * Serves the lines that datastores fetch from this gateway: each import has its own URLs and credentials, which give
 * access to nothing else and are invalid after its end.
 */
export class ImportFileServer {
  readonly #url: string
  readonly #open = new Map<string, Open>()

  /** @param url the URL at which datastores reach this gateway instance */
  constructor (url: string) {
    this.#url = url
  }

  offer (files: OfferedFiles): Offer {
    const [token, password] = [generateCredential(), generateCredential()]
    const credentials = `clinigate:${password}`
    let resolve: (isOpen: boolean) => void = () => {}
    const isOpen = new Promise<boolean>(_resolve => {
      resolve = _resolve
    })
    const path = digest(token).toString('hex')
    this.#open.set(path, { files, credentials: digest(credentials), isOpen })
    return {
      files: [...files.keys()].map(type => ({ type, url: `${this.#url}${prefix}/${token}/${type}.ndjson` })),
      credentials,
      open: () => resolve(true),
      close: () => {
        this.#open.delete(path)
        resolve(false)
      }
    }
  }

  /** The file for a request; undefined when the request is not allowed, or there is no such file. */
  async find ({
    token,
    name,
    authorization = ''
  }: {
    readonly token: string
    readonly name: string
    readonly authorization?: string | undefined
  }): Promise<(() => Readable) | undefined> {
    const path = digest(token).toString('hex')
    const open = this.#open.get(path)
    const [, received = ''] = /^basic ([A-Za-z0-9+/=]{1,400})$/i.exec(authorization) ?? []
    const isOk = timingSafeEqual(digest(Buffer.from(received, 'base64')), open?.credentials ?? digest(''))
    if (open === undefined || !isOk || !(await open.isOpen) || !this.#open.has(path)) return undefined
    return open.files.get(name.replace(/\.ndjson$/, ''))
  }
}

const generateCredential = (): string => randomBytes(secretBytes).toString('base64url')

const digest = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest()

type WithLocation = FastifyRequest<{ Params: { token: string, name: string } }>

/** `/bulk-import/<token>/<type>.ndjson`: outside the routes that require a key, for datastores only. */
export async function importFileRoute (scope: FastifyInstance, offers: ImportFileServer): Promise<void> {
  scope.get(`${prefix}/:token/:name`, { exposeHeadRoute: false }, async (request: WithLocation, reply) => {
    const { params, headers: { authorization } } = request
    const read = await offers.find({ ...params, authorization })
    if (read === undefined) throw new Failure('NOT_FOUND')
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    return reply.type('application/fhir+ndjson').send(read())
  })
}
