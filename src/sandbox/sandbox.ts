import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest
} from 'fastify'
import { parseStored, printJson } from '../json/json.js'
import { runBundle } from './bundle.js'
import { readUrl, parseInteraction, type Sandbox, type SandboxRequest } from './interaction.js'
import { defaultBehaviour, type ServerBehaviour } from './server-behaviour.js'
import { invalid, buildOutcome, FhirError } from './outcome.js'
import type { QueryParameter } from './paging.js'
import { perform, type SandboxResponse } from './perform.js'
import { Store } from './store.js'

interface SandboxOptions {
  /** Where the resources stay; `:memory:` forgets them. */
  readonly file: string
  /** There is no authentication, so that nothing but loopback is offered. */
  readonly host?: '127.0.0.1' | '::1'
  /** 0, the default, is any that is free. */
  readonly port?: number
  now (): Date
  newId? (): string
  readonly log?: FastifyBaseLogger
  /** Deviations from HAPI's behaviour, for tests. */
  readonly behaviour?: Partial<ServerBehaviour>
}

/** A FHIR R4 server inside this process: for the first minute, demos and fast tests, never for production. */
interface RunningSandbox {
  /** The base URL, without a slash at its end. */
  readonly url: string
  close (): Promise<void>
}

/** The largest body: 16 MiB. */
const bodyLimit = 16 * 1024 * 1024

/** Opens the store and listens. Several run side by side, each with its own file. */
export async function startSandbox ({
  file,
  host = '127.0.0.1',
  port = 0,
  now,
  newId = randomUUID,
  log,
  behaviour: others
}: SandboxOptions): Promise<RunningSandbox> {
  const behaviour = { ...defaultBehaviour, ...others }
  const store = new Store(file, behaviour.references === 'checked')
  const app = fastify({
    bodyLimit,
    frameworkErrors: sendError,
    logController: new LogController({ disableRequestLogging: true }),
    ...(log ? { loggerInstance: log } : { logger: false })
  })
  app.setErrorHandler(sendError)
  app.setNotFoundHandler(() => {
    throw new FhirError(404, 'not-found', 'the base URL ends in /fhir')
  })
  app.addHook('onClose', async () => {
    store.close()
  })
  readBodies(app, behaviour)
  const sandbox: Sandbox = {
    store,
    now,
    newId,
    behaviour,
    get baseUrl () {
      return getBaseUrl(app)
    }
  }
  const handler = (request: FastifyRequest, reply: FastifyReply) =>
    send(sandbox, reply, handleRequest(sandbox, request))
  for (const url of ['/fhir', '/fhir/*']) app.route({ method: ['GET', 'POST', 'PUT', 'DELETE'], url, handler })
  await app.listen({ host, port }).catch(async error => {
    await app.close()
    throw error
  })
  return { url: sandbox.baseUrl, close: () => app.close() }
}

function getBaseUrl (app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/fhir`
}

function readBodies (app: FastifyInstance, { json }: ServerBehaviour): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    json === 'fhir' ? 'application/fhir+json' : ['application/fhir+json', 'application/json'],
    { parseAs: 'string' },
    (_request, body, done) => {
      try {
        done(null, parseStored(body as string))
      } catch {
        done(invalid('the body is not JSON'))
      }
    }
  )
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body as string))
  })
}

function sendError (error: FastifyError | FhirError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, code, message } = toFhirError(error)
  if (status >= 500) request.log.error({ err: error }, 'the sandbox could not respond')
  return reply.status(status).type(fhirJson).send(printJson(buildOutcome('error', code, message)))
}

function toFhirError (error: FastifyError | FhirError): FhirError {
  if (error instanceof FhirError) return error
  if (error instanceof RangeError && error.statusCode === undefined) return invalid('the body is nested too deeply')
  const status = error.statusCode ?? 500
  // Fastify's own texts repeat what was sent.
  return status < 500
    ? new FhirError(status, 'invalid', 'the request could not be read')
    : new FhirError(500, 'exception', 'the sandbox could not respond')
}

function handleRequest (sandbox: Sandbox, { raw, headers, body }: FastifyRequest): SandboxResponse {
  const { json } = sandbox.behaviour
  if (json === 'fhir' && !/application\/fhir\+json|^\*\/\*/.test(String(headers.accept ?? '*/*'))) {
    throw new FhirError(406, 'not-supported', 'this server answers in application/fhir+json alone')
  }
  const method = raw.method === 'HEAD' ? 'GET' : String(raw.method)
  const { path, query } = readUrl(String(raw.url).slice('/fhir'.length))
  if (method === 'POST' && path.length === 0) {
    const isVerbose =
      sandbox.behaviour.writesShow === 'as preferred' && String(headers['prefer']).includes('return=representation')
    return { status: 200, text: printJson(runBundle(sandbox, body, isVerbose)) }
  }
  const isForm = body instanceof URLSearchParams
  if (body !== undefined && isForm !== (path[1] === '_search')) {
    throw new FhirError(415, 'not-supported', 'a search is a form, a resource is JSON')
  }
  const ifNoneExist = headers['if-none-exist'] as string | undefined
  const isStrict = String(headers['prefer']).includes('handling=strict')
  return run(sandbox, {
    method,
    path,
    query: isForm ? selectFormParameters(sandbox, query, body) : query,
    ifMatch: headers['if-match'],
    ifNoneExist,
    isStrict,
    body
  })
}

/** The parameters that count in a search by form. */
function selectFormParameters (
  { behaviour }: Sandbox,
  url: readonly QueryParameter[],
  form: URLSearchParams
): readonly QueryParameter[] {
  return [
    ...(behaviour.formSearches === 'form alone' ? [] : url),
    ...(behaviour.formSearches === 'url alone' ? [] : form)
  ]
}

function run (sandbox: Sandbox, request: SandboxRequest): SandboxResponse {
  const respond = () => perform(sandbox, parseInteraction(sandbox, request))
  return request.method === 'GET' ? respond() : sandbox.store.runInTransaction(respond)
}

const fhirJson = 'application/fhir+json; charset=utf-8'

/** A member with a relative reference or location; no text of a resource can hold its unescaped quotes. */
const relativeReference = /"(reference|location)":"(?=[A-Z][A-Za-z]+\/[A-Za-z0-9.-]{1,64}["/])/g

function send (
  { baseUrl, behaviour }: Sandbox,
  reply: FastifyReply,
  { status, text: own, version }: SandboxResponse
): FastifyReply {
  const text =
    behaviour.shownReferences === 'absolute' ? own.replace(relativeReference, `"$1":"${baseUrl}/`) : own
  reply.status(status).type(fhirJson)
  if (!version) return reply.send(text)
  const { method, headers } = reply.request
  const url = `${baseUrl}/${version.type}/${version.id}/_history/${version.version}`
  reply.headers({
    etag: `W/"${version.version}"`,
    'last-modified': new Date(version.at).toUTCString(),
    [method === 'POST' || status === 201 ? 'location' : 'content-location']: url
  })
  const isMinimal = behaviour.writesShow === 'nothing' || headers['prefer'] === 'return=minimal'
  return reply.send(method !== 'GET' && isMinimal ? '' : text)
}
