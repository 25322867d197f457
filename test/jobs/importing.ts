import { setTimeout as pause } from 'node:timers/promises'
import type { TestGateway } from '../harness/gateway.js'

/** A result as a client reads it. */
interface ResultLine {
  readonly line: number
  readonly status: string
  readonly resourceType?: string
  readonly id?: string
  readonly code?: string
  readonly message?: string
  readonly field?: string
  readonly warnings?: readonly unknown[]
}

/** A client of one organization that imports. */
export interface Importer {
  readonly secret: string
  /** Sends lines as NDJSON. @returns the response */
  readonly send: (
    lines: string | Buffer,
    query?: string,
    headers?: Record<string, string>
  ) => Promise<{ readonly status: number; readonly body: any }>
  /** Resolves when a job has ended. */
  readonly waitForEnd: (jobId: string) => Promise<any>
  readonly fetchResults: (jobId: string) => Promise<ResultLine[]>
  /** Sends lines and waits for the end. */
  readonly run: (
    lines: string | Buffer | readonly unknown[],
    query?: string
  ) => Promise<{ readonly job: any; readonly results: ResultLine[] }>
  readonly get: (path: string) => Promise<{ readonly status: number; readonly body: any }>
  readonly post: (path: string, body: unknown) => Promise<{ readonly status: number; readonly body: any }>
}

export const toNdjson = (records: readonly unknown[]): string =>
  records.map(record => `${JSON.stringify(record)}\n`).join('')

export function createImporter ({ url }: Pick<TestGateway, 'url'>, secret: string): Importer {
  const sendRequest = async (path: string, init: RequestInit = {}): Promise<{ status: number, body: any }> => {
    const response = await fetch(`${url}/v1${path}`, { ...init, headers: { 'x-api-key': secret, ...init.headers } })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const send: Importer['send'] = async (lines, query = '', headers = {}) =>
    await sendRequest(`/bulk/import${query}`, {
      method: 'POST',
      body: lines as NonNullable<RequestInit['body']>,
      headers: { 'content-type': 'application/x-ndjson', ...headers }
    })
  const fetchResults: Importer['fetchResults'] = async jobId => {
    const response = await fetch(`${url}/v1/bulk/jobs/${jobId}/results`, { headers: { 'x-api-key': secret } })
    if (response.status !== 200) throw new Error(`the results were answered with ${response.status}`)
    return (await response.text()).split('\n').filter(line => line !== '').map(line => JSON.parse(line))
  }
  const waitForEnd: Importer['waitForEnd'] = async jobId => {
    for (let tries = 0; tries < 2_400; tries++) {
      const { body } = await sendRequest(`/bulk/jobs/${jobId}`)
      if (!['pending', 'processing'].includes(body.data.status)) return body.data
      await pause(50)
    }
    throw new Error('the job does not end')
  }
  return {
    secret,
    send,
    waitForEnd,
    fetchResults,
    run: async (lines, query) => {
      const started = await send(Array.isArray(lines) ? toNdjson(lines) : (lines as string | Buffer), query)
      if (started.status !== 202) {
        throw new Error(`the import was answered with ${started.status} ${started.body?.message}`)
      }
      const job = await waitForEnd(started.body.data.jobId)
      return { job, results: await fetchResults(job.id) }
    },
    get: path => sendRequest(path),
    post: (path, body) =>
      sendRequest(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  }
}
