import { RelativeReferences } from '../../src/backends/relative-references.js'
import { parseStored, printJson } from '../../src/json/json.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'

/** The system of the tag that marks the owner of a record. */
export const tenantSystem = 'urn:clinigate:tenant'

/** A FHIR server spoken to straight, as an operator or another system behind the gateway does. */
export interface FhirServer {
  readonly url: string
  readonly send: (
    method: string,
    path: string,
    body?: unknown
  ) => Promise<{ readonly status: number; readonly body: any }>
  /** The stored record; fails when there is none. */
  readonly read: (type: string, id: string) => Promise<StoredResource>
  /** Stores a record of the tenant as another system might have: anything goes that the server takes. */
  readonly store: (tenantId: string, resource: FhirResource) => Promise<StoredResource>
  /** Stores many at once; the ids in their order. */
  readonly storeAll: (tenantId: string, resources: readonly FhirResource[]) => Promise<string[]>
  /** All records of a type that carry the tenant's tag. */
  readonly fetchTagged: (tenantId: string, type: string) => Promise<StoredResource[]>
}

export function createFhirClient (url: string): FhirServer {
  // Tests compare stored records, and a server may show its references with its base URL.
  const references = new RelativeReferences(url)
  const send: FhirServer['send'] = async (method, path, body) => {
    const response = await fetch(/^(?:\?|$)/.test(path) ? url + path : `${url}/${path}`, {
      method,
      headers: {
        accept: 'application/fhir+json',
        'cache-control': 'no-cache',
        prefer: 'return=representation',
        ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' })
      },
      ...(body === undefined ? {} : { body: printJson(body) })
    })
    const text = references.relativize(await response.text())
    const location = response.headers.get('location')
    // A server need not show what it stored.
    if (text === '' && location !== null) {
      return { ...(await send('GET', location.slice(url.length + 1))), status: response.status }
    }
    return { status: response.status, body: text === '' ? undefined : parseStored(text) }
  }
  const require = async (status: number, ...request: Parameters<typeof send>) => {
    const response = await send(...request)
    if (response.status !== status) {
      throw new Error(`${request[0]} ${request[1]}: ${response.status} ${JSON.stringify(response.body)?.slice(0, 2_000)}`)
    }
    return response.body
  }
  return {
    url,
    send,
    read: (type, id) => require(200, 'GET', `${type}/${id}`),
    store: (tenantId, resource) => require(201, 'POST', resource.resourceType, withTenantTag(tenantId, resource)),
    async storeAll (tenantId, resources) {
      const entry = resources.map(resource => ({
        resource: withTenantTag(tenantId, resource),
        request: { method: 'POST', url: resource.resourceType }
      }))
      const bundle = await require(200, 'POST', '', { resourceType: 'Bundle', type: 'transaction', entry })
      return bundle.entry.map(({ response }: any) => /\/([^/]+)(?:\/_history\/.*)?$/.exec(response.location)![1]!)
    },
    async fetchTagged (tenantId, type) {
      const found: StoredResource[] = []
      let path: string | undefined = `${type}?_tag=${encodeURIComponent(`${tenantSystem}|${tenantId}`)}&_count=1000`
      while (path !== undefined) {
        const page: any = await require(200, 'GET', path)
        found.push(...(page.entry ?? []).map((entry: any) => entry.resource))
        path = page.link?.find(({ relation }: any) => relation === 'next')?.url.slice(url.length).replace(/^\//, '')
      }
      return found
    }
  }
}

const withTenantTag = (tenantId: string, { id, ...resource }: FhirResource) => ({
  ...resource,
  meta: {
    ...resource.meta,
    versionId: undefined,
    lastUpdated: undefined,
    tag: [{ system: tenantSystem, code: tenantId }]
  }
})
