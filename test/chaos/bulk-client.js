import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { built } from './built.js'

const { catalog } = await import(join(built, 'envelope', 'failures.js'))

const linesOfAnImport = 200
/** The maximum of unfinished jobs: one that met a fault waits before it is retried. */
const maxOpen = 3

/**
 * Imports and exports of one organization. Each line of an import has one result, whatever happens meanwhile; a record
 * that a result reports as created exists; and an export has every record that existed when it began, and none of
 * others.
 */
export class BulkClient {
  counts = { imports: 0, exports: 0, linesCreated: 0, linesFailed: 0, linesExported: 0, jobsLeft: 0 }
  /** Of lines that were reported as created. */
  #created = []
  #number = 0
  /** Jobs that have not ended, and the check of each. */
  #open = new Set()

  constructor (tenant) {
    this.tenant = tenant
  }

  async work (stopping) {
    for (let turn = 0; !stopping.aborted; turn++) {
      const begun = this.#open.size < maxOpen ? await (turn % 3 === 2 ? this.#export() : this.#import()) : undefined
      if (begun !== undefined) this.#open.add(begun)
      await this.#pollJobs()
    }
  }

  /**
   * Waits for the unfinished jobs until the time that is given: a job that still waits for a retry is cancelled, and
   * its status must be true until then.
   */
  async endJobs (until) {
    while (this.#open.size > 0 && performance.now() < until) await this.#pollJobs()
    for (const { jobId, markers } of this.#open) {
      this.counts.jobsLeft++
      const { status } = await this.tenant.send('DELETE', `bulk/jobs/${jobId}`) ?? {}
      if (status !== 200) this.#addViolation(`a job is cancelled with ${status}`)
      if (markers === undefined) continue
      const { data: results } = await this.tenant.send('GET', `bulk/jobs/${jobId}/results`) ?? {}
      this.#checkResults(results.filter(({ status }) => status !== 'pending'), markers)
    }
  }

  /** After the organization has read all its records. */
  settle () {
    const found = new Set(this.tenant.found)
    const missing = this.#created.filter(marker => !found.has(marker)).length
    if (missing > 0) this.#addViolation(`${missing} lines that were said to be created are not there`)
  }

  async #pollJobs () {
    await pause(500)
    for (const one of this.#open) {
      const { status, data: job } = await this.tenant.send('GET', `bulk/jobs/${one.jobId}`) ?? {}
      if (status < 500 && status !== 200) this.#addViolation(`a job is answered with ${status}`)
      if (status !== 200 || ['pending', 'processing'].includes(job.status)) continue
      if (job.status !== 'completed') this.#addViolation(`a job is ${job.status}: ${job.failure?.code}`)
      // A job that could not be read is polled again.
      else if (!await one.judge(job)) continue
      this.#open.delete(one)
    }
  }

  async #import () {
    const batch = ++this.#number
    const markers = Array.from({ length: linesOfAnImport }, (_, at) => `${this.tenant.name}b${batch}x${at + 1}`)
    const body = markers
      .map((lastName, at) => `${JSON.stringify({ id: `${batch}-${at}`, firstName: 'v0', lastName })}\n`)
      .join('')
    const { status, data } =
      (await this.tenant.send('POST', 'bulk/import?resourceType=patients', { body, type: 'application/x-ndjson' })) ??
      {}
    if (status === 202) return { jobId: data.jobId, markers, judge: ({ id }) => this.#checkImport(id, markers) }
    if (status < 500) this.#addViolation(`an import is answered with ${status}`)
  }

  async #checkImport (jobId, markers) {
    const { status, data: results } = await this.tenant.send('GET', `bulk/jobs/${jobId}/results`) ?? {}
    if (status !== 200) return false
    this.counts.imports++
    if (results.length !== markers.length) this.#addViolation(`${results.length} results of ${markers.length} lines`)
    this.#checkResults(results, markers)
    return true
  }

  /** In the order of the lines, each once. */
  #checkResults (results, markers) {
    if (results.some(({ line }, at) => line <= (results[at - 1]?.line ?? 0))) {
      this.#addViolation('results are not in the order of their lines, or one has two')
    }
    for (const { line, status, code } of results) {
      this.counts[status === 'created' ? 'linesCreated' : 'linesFailed']++
      if (status === 'created') this.#created.push(markers[line - 1])
      else if (status !== 'failed' || !Object.hasOwn(catalog, code ?? '')) this.#addViolation(`a line is ${status} by ${code}`)
    }
  }

  async #export () {
    const known = [...this.#created]
    const { status, data } =
      (await this.tenant.send('POST', 'bulk/export', { body: { resourceTypes: ['patients'] } })) ?? {}
    if (status === 202) return { jobId: data.jobId, judge: ({ files }) => this.#checkExport(files, known) }
    if (status < 500) this.#addViolation(`an export is answered with ${status}`)
  }

  async #checkExport (files, known) {
    const exported = []
    for (const { url, count } of files) {
      const { status, data } = await this.tenant.send('GET', new URL(url).pathname.replace('/v1/', '')) ?? {}
      if (status !== 200) return false
      if (data.length !== count) this.#addViolation(`${data.length} lines in a file of ${count}`)
      exported.push(...data.map(({ name: [{ family }] }) => family))
    }
    this.counts.exports++
    this.counts.linesExported += exported.length
    const there = new Set(exported)
    const missing = known.filter(marker => !there.has(marker)).length
    if (missing > 0) {
      this.#addViolation(`an export lacks ${missing} of ${known.length} records that were there before it began`)
    }
    if (there.size !== exported.length) this.#addViolation('an export has a record twice')
    return true
  }

  #addViolation (what) {
    this.tenant.violations.push(what)
  }
}
