import { setTimeout as pause } from 'node:timers/promises'
import { findContractViolations } from './check-response.js'

/**
 * One organization's clients: they create, read, change and search patients that carry a marker of their own, and
 * remember what was acknowledged. Every broken guarantee becomes a violation.
 */
export class Tenant {
  /** By id: the marker, and the first names that the record may have now. */
  promised = new Map()
  /** The ids of requests that were performed, or rejected for their content. */
  served = []
  violations = []
  /** The markers of all records that exist at the end. */
  found = []
  counts = {
    responses: 0,
    created: 0,
    replayed: 0,
    changed: 0,
    failures: 0,
    withoutResponse: 0,
    servedOnFullDisk: 0,
    refusedOnFullDisk: 0
  }

  /** Since when the gateway's disk is full; undefined while there is room. */
  fullSince
  #number = 0

  /** `mayBreak` returns whether the gateway itself is being ended, so that connections may break. */
  constructor ({ name, secret, url, others, random, mayBreak }) {
    Object.assign(this, { name, secret, url, others, random, mayBreak })
  }

  /** Works until `stopping` is aborted. */
  async work (stopping) {
    const tasks = [
      () => this.#create(),
      () => this.#read(),
      () => this.#read(),
      () => this.#change(),
      () => this.#search()
    ]
    while (!stopping.aborted) {
      await tasks[Math.floor(this.random() * tasks.length)]()
      await pause(5 + this.random() * 20)
    }
  }

  /** Sends one request and checks the response; undefined when none arrived. */
  async send (method, path, { body, key, type = 'application/json' } = {}) {
    const began = performance.now()
    try {
      const response = await fetch(`${this.url}/v1/${path}`, {
        method,
        headers: {
          'x-api-key': this.secret,
          ...(body && { 'content-type': type }),
          ...(key && { 'idempotency-key': key })
        },
        body: typeof body === 'object' ? JSON.stringify(body) : body
      })
      const received = { status: response.status, headers: response.headers, text: await response.text() }
      const hasLines = response.ok && response.headers.get('content-type').includes('ndjson')
      this.#checkResponse(received, `${method} ${path.replace(/\/.*|\?.*/, '')}`, hasLines ? [] : findContractViolations(received))
      if (began >= this.fullSince) this.#checkOnFullDisk(`${method} ${path.replace(/\/.*|\?.*/, '')}`, received.status)
      return {
        ...received,
        data: hasLines
          ? received.text
            .split('\n')
            .filter(Boolean)
            .map(line => JSON.parse(line))
          : JSON.parse(received.text).data
      }
    } catch (error) {
      this.counts.withoutResponse++
      if (!this.mayBreak(began)) this.violations.push(`no answer to ${method}: ${error.cause?.code ?? error.message}`)
      return undefined
    }
  }

  #checkResponse (response, what, broken) {
    this.counts.responses++
    if (response.status >= 400) this.counts.failures++
    if (response.status < 500) this.served.push(response.headers.get('x-request-id'))
    for (const rule of broken) this.violations.push(`${what}: ${rule}`)
    for (const other of this.others) {
      if (response.text.includes(other)) this.violations.push(`${what}: another organization's record`)
    }
  }

  /** A write that can't be recorded is rejected with 503, and reads need no room. */
  #checkOnFullDisk (what, status) {
    this.counts[status < 500 ? 'servedOnFullDisk' : 'refusedOnFullDisk']++
    if (status >= 500 && status !== 503) this.violations.push(`${what}: ${status} on a full disk`)
  }

  async #create () {
    const marker = `${this.name}${++this.#number}`
    const body = { firstName: 'v0', lastName: marker }
    for (let attempt = 0; attempt < 12; attempt++) {
      const response = await this.send('POST', 'patients', { body, key: marker })
      if (response?.status === 201) {
        this.counts.created++
        if (response.headers.get('idempotent-replayed') === 'true') this.counts.replayed++
        this.promised.set(response.data.id, { marker, names: new Set(['v0']) })
        return
      }
      // Writes that need no record are performed meanwhile.
      if (this.fullSince !== undefined) await this.#change()
      await pause(500)
    }
  }

  async #change () {
    const [id, record] = this.#pickRecord() ?? []
    if (id === undefined) return
    const firstName = `v${++this.#number}`
    // From the moment at which it is sent it may be performed.
    record.names.add(firstName)
    const response = await this.send('PATCH', `patients/${id}`, { body: { firstName } })
    if (response?.status === 200) {
      this.counts.changed++
      record.names = new Set([firstName])
    } else if (response?.status < 500) record.names.delete(firstName)
    if (response?.status === 404) this.violations.push('a record that was promised is not found to be changed')
  }

  async #read () {
    const [id, record] = this.#pickRecord() ?? []
    if (id === undefined) return
    const response = await this.send('GET', `patients/${id}`)
    if (response !== undefined && response.status < 500) {
      this.#compare(response.status === 200 ? response.data : undefined, record)
    }
  }

  async #search () {
    const [id, { marker } = {}] = this.#pickRecord() ?? []
    if (id === undefined) return
    const response = await this.send('GET', `patients?lastName=${marker}`)
    if (response?.status === 200 && !response.data.data.some(found => found.id === id)) {
      this.violations.push('a search does not find what was promised')
    }
  }

  #pickRecord () {
    const all = [...this.promised]
    return all[Math.floor(this.random() * all.length)]
  }

  #compare (found, { marker, names }) {
    if (found === undefined) this.violations.push('a record that was promised is not found')
    else if (found.lastName !== marker || !names.has(found.firstName)) {
      this.violations.push('a record is not what was promised')
    }
  }

  /** Reads everything once more, after all faults: no acknowledged record is missing or duplicated. */
  async settle () {
    const markers = (this.found = [])
    for (let cursor = ''; cursor !== undefined;) {
      const { status, data } =
        (await this.send('GET', `patients?count=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)) ?? {}
      if (status !== 200) return this.violations.push(`at the end a search is answered with ${status}`)
      markers.push(...data.data.map(({ lastName }) => lastName))
      cursor = data.cursor
    }
    if (new Set(markers).size !== markers.length) {
      this.violations.push('a record was made twice, of one line of an import or with one Idempotency-Key')
    }
    for (const [id, record] of this.promised) {
      const { status, data } = (await this.send('GET', `patients/${id}`)) ?? {}
      this.#compare(status === 200 ? data : undefined, record)
    }
  }
}
