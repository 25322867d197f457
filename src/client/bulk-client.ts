import type { components } from './openapi.js'
import type { Page, RequestOptions } from './resource-client.js'
import { pause } from './retry.js'
import type { Send } from './send.js'

/** An export or import: its progress and its result. */
export type BulkJob = components['schemas']['BulkJob']

/** The records and options of an export. */
export type ExportDraft = components['schemas']['BulkExport']

export interface WaitOptions extends RequestOptions {
  /** Called with each state of a job that has not ended. */
  readonly onProgress?: (job: BulkJob) => void
}

const path = '/v1/bulk/jobs/{id}'
const firstPauseMs = 250
const maxPauseMs = 5_000

/** The bulk jobs of the key's organization and mode. Each request rejects with a ClinigateError. */
export class BulkClient {
  readonly #send: Send

  constructor (send: Send) {
    this.#send = send
  }

  /** Starts an export and resolves with the id of its job. */
  async export (draft: ExportDraft = {}, { signal }: RequestOptions = {}): Promise<string> {
    const { jobId } = await this.#send<{ jobId: string }>(
      { method: 'POST', path: '/v1/bulk/export', body: draft, signal }
    )
    return jobId
  }

  /** One page of the jobs that have not expired, newest first. */
  list (query: { cursor?: string, count?: number } = {}, { signal }: RequestOptions = {}): Promise<Page<BulkJob>> {
    return this.#send({ method: 'GET', path: '/v1/bulk/jobs', query, signal })
  }

  read (id: string, { signal }: RequestOptions = {}): Promise<BulkJob> {
    return this.#send({ method: 'GET', path, ids: { id }, signal })
  }

  /** Resolves with the job after the request: one that has ended does not change. */
  cancel (id: string, { signal }: RequestOptions = {}): Promise<BulkJob> {
    return this.#send({ method: 'DELETE', path, ids: { id }, signal })
  }

  /** Requests a job until it has ended, less often the longer it takes. */
  async wait (id: string, { signal, onProgress }: WaitOptions = {}): Promise<BulkJob> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
      const job = await this.read(id, { signal })
      if (job.status !== 'pending' && job.status !== 'processing') return job
      onProgress?.(job)
      await pause(pauseMs, signal)
    }
  }
}
