import type { Test } from 'tap'
import { parseStored, printJson } from '../../src/json/json.js'
import type { Scope } from '../../src/keys/caller.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

/** The base URL of raw FHIR for clients of these tests, which the gateway has as its own. */
export const fhirBase = 'https://gateway.test/v1/fhir'

/** A response of raw FHIR, its numbers with their own text. */
export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** The resource in the body; undefined where there was no body. */
  readonly resource: any
}

/** One application with its key; a text body is sent unchanged. */
export interface Fhir {
  readonly tenantId: string
  readonly secret: string
  /** `path` begins after `/v1/fhir`, or is a whole URL below {@link fhirBase}. */
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>
  ) => Promise<RawResponse>
}

/** A gateway to a FHIR server, for the tests of one file. */
export interface World {
  readonly gateway: TestGateway
  readonly server: 'sandbox' | 'hapi'
  /** A new organization, or another key of one. */
  readonly fhir: (request?: { readonly tenantId?: string, readonly scopes?: readonly Scope[] }) => Promise<Fhir>
}

export async function openWorld (
  t: Test,
  { url, server }: { readonly url: string; readonly server: World['server'] }
): Promise<World> {
  const gateway = await startGateway(t, {
    fhirUrl: url,
    plans: unlimitedPlans,
    config: { publicUrl: new URL(fhirBase).origin }
  })
  return {
    gateway,
    server,
    fhir: async request => {
      const { tenantId, secret } = await gateway.createKey(request)
      return { tenantId, secret, send: createFhirSender(gateway, secret) }
    }
  }
}

/** A client that sends the requests of one key. */
export function createFhirSender (gateway: Pick<TestGateway, 'inject'>, secret: string): Fhir['send'] {
  return async (method, path, body, headers = {}) => {
    const response = await gateway.inject({
      method: method as 'GET',
      url: `/v1/fhir${path.startsWith(fhirBase) ? path.slice(fhirBase.length) : path}`,
      headers: {
        'x-api-key': secret,
        ...(body !== undefined && { 'content-type': 'application/fhir+json' }),
        ...headers
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' || body instanceof Buffer ? body : printJson(body)
      })
    })
    return {
      status: response.statusCode,
      headers: response.headers as RawResponse['headers'],
      text: response.body,
      resource: response.body === '' ? undefined : parseStored(response.body)
    }
  }
}

export const patchType = { 'content-type': 'application/json-patch+json' }
export const formType = { 'content-type': 'application/x-www-form-urlencoded' }

export const buildPatient = (more: object = {}) => ({
  resourceType: 'Patient',
  name: [{ family: 'Byron', given: ['Ada'] }],
  ...more
})
export const buildObservation = (subject: string, more: object = {}) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
  subject: { reference: subject },
  ...more
})

/** A Bundle of requests. */
export const buildBundle = (type: string, ...entry: object[]) => ({ resourceType: 'Bundle', type, entry })
/** One of its entries; `request` may have ifMatch and ifNoneExist. */
export const buildEntry = (
  method: string,
  url: string,
  resource?: object,
  { fullUrl, ...request }: Readonly<Record<string, string>> = {}
) => ({
  ...(fullUrl !== undefined && { fullUrl }),
  ...(resource !== undefined && { resource }),
  request: { method, url, ...request }
})
/** A JSON Patch as an entry has it. */
export const buildPatchEntry = (
  url: string,
  patch: readonly object[],
  request: Readonly<Record<string, string>> = {}
) =>
  buildEntry(
    'PATCH',
    url,
    {
      resourceType: 'Binary',
      contentType: 'application/json-patch+json',
      data: Buffer.from(JSON.stringify(patch)).toString('base64')
    },
    request
  )

/** Stores resources. @returns their ids */
export async function storeResources (
  { send }: Fhir,
  ...resources: ReadonlyArray<{ readonly resourceType: string }>
): Promise<string[]> {
  const { status, text, resource } = await send(
    'POST',
    '',
    buildBundle('transaction', ...resources.map(one => buildEntry('POST', one.resourceType, one)))
  )
  if (status !== 200) throw new Error(`not stored: ${status} ${text}`)
  return resource.entry.map(({ response }: any) => parseVersionedId(response.location))
}

/** `1` of `…/Patient/1/_history/2`. */
export const parseVersionedId = (location: string): string => /\/([^/]+)\/_history\/[^/]+$/.exec(location)![1]!

/** The records of a Bundle as `Type/id`, included ones with a `+` before. */
export const listRecords = ({ resource }: RawResponse): string[] =>
  (resource.entry ?? []).map(
    (item: any) => `${item.search?.mode === 'include' ? '+' : ''}${item.resource.resourceType}/${item.resource.id}`
  )

export const findLink = ({ resource }: RawResponse, relation: string): string | undefined =>
  resource.link?.find((link: any) => link.relation === relation)?.url

/** All pages of a search, by their links. */
export async function fetchPages ({ send }: Fhir, path: string): Promise<RawResponse[]> {
  const pages: RawResponse[] = []
  for (let next: string | undefined = path; next !== undefined; next = findLink(pages.at(-1)!, 'next')) {
    const page = await send('GET', next)
    if (page.status !== 200 || pages.length > 200) throw new Error(`a page is ${page.status}, after ${pages.length}`)
    pages.push(page)
  }
  return pages
}

/**
 * Asserts an error response of raw FHIR: the status, an OperationOutcome with this issue, and nothing of the envelope.
 */
export function assertRejected (
  t: Test,
  response: RawResponse,
  expected:
    | number
    | {
      readonly status: number
      readonly code?: string
      readonly diagnostics?: RegExp
      readonly expression?: readonly string[]
    },
  message: string
): void {
  const { status, ...issue } = typeof expected === 'number' ? { status: expected } : expected
  t.match(
    response,
    {
      status,
      headers: { 'content-type': /^application\/fhir\+json/, 'x-request-id': /./ },
      resource: {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', code: /^[a-z-]+$/, diagnostics: /./, ...issue }]
      }
    },
    message
  )
  t.notHas(response.resource, { meta: {} }, message)
}
