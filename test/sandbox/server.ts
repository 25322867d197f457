import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'

/** The response of a server; `resource` is its body. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly resource: any
}

/** A FHIR server and a part of it: no other resources there have ids or tags that begin with `run`. */
export class Server {
  readonly run = `r${randomUUID().slice(0, 8)}`
  readonly tag = { system: 'urn:test:run', code: this.run }

  constructor (readonly url: string) {}

  /** Sends to a path under the base URL; a text body is sent unchanged. */
  async send (
    method: string, path: string, body?: unknown, headers: Record<string, string> = {}
  ): Promise<TestResponse> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        'cache-control': 'no-cache',
        ...(body !== undefined && { 'content-type': 'application/fhir+json' }),
        ...headers
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      resource: text.startsWith('{') ? JSON.parse(text) : undefined
    }
  }

  id (name: string): string {
    return `${this.run}-${name}`
  }

  /** Stores a new resource with the tag of this run. */
  async store (resource: { resourceType: string, id: string, [name: string]: unknown }): Promise<void> {
    const { status, text } = await this.send('PUT', `/${resource.resourceType}/${resource.id}`, {
      ...resource,
      meta: { tag: [this.tag] }
    })
    if (status !== 201) throw new Error(`${status} ${text}`)
  }

  /**
   * `Patient?name=anna` among the resources with the tag; `~name` represents an id. Raw `|`, `+` and spaces are
   * encoded.
   */
  async search (query: string, page = '_offset=0&_count=50&_total=accurate'): Promise<TestResponse> {
    const [type, parameters = ''] = query.split('?')
    const encoded = parameters.replaceAll('~', `${this.run}-`).replaceAll('|', '%7C').replaceAll('+', '%2B')
    return await this.send('GET', `/${type}?_tag=${this.tag.system}%7C${this.tag.code}&${page}&${encoded}`)
  }

  /** The resources of a page by the names that {@link id} was given. */
  listNames ({ resource }: TestResponse): string[] {
    return (resource.entry ?? []).map(
      (entry: any) =>
        entry.resource.id.slice(this.run.length + 1) + (entry.search.mode === 'include' ? ' (included)' : '')
    )
  }
}

export function requireRejected (
  t: Test, response: TestResponse, status: number | readonly number[], message: string
): void {
  t.ok([status].flat().includes(response.status), `${message}: ${response.status}`)
  t.equal(response.resource?.resourceType, 'OperationOutcome', message)
}

export const entry = (method: string, url: string, resource?: object, more: object = {}) => ({
  ...(resource && { resource }),
  ...more,
  request: { method, url }
})

export const bundle = (type: string, ...entries: object[]) => ({ resourceType: 'Bundle', type, entry: entries })
