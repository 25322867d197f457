import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'

/** What a server answered; `resource` is its body. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly resource: any
}

/** A FHIR server for one test file: a sandbox of its own, or the server at TEST_FHIR_URL, which must behave the same. */
export interface ServerUnderTest {
  readonly url: string
  readonly isSandbox: boolean
  /** No other run on the same server uses ids or tags that begin so. */
  readonly run: string
  readonly tag: { readonly system: string, readonly code: string }
  send (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export async function serverUnderTest (t: Test): Promise<ServerUnderTest> {
  const given = process.env['TEST_FHIR_URL']
  const sandbox = given ? undefined : await startSandbox({ file: ':memory:' })
  t.teardown(() => sandbox?.close())
  const url = given ?? sandbox!.url
  const run = `r${randomUUID().slice(0, 8)}`
  return { url, isSandbox: sandbox !== undefined, run, tag: { system: 'urn:test:run', code: run }, send: sender(url) }
}

/** Sends to the server at the base URL; a body that is text goes as it is. */
export function sender (url: string): ServerUnderTest['send'] {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'cache-control': 'no-cache', ...(body !== undefined && { 'content-type': 'application/fhir+json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) })
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, resource: text.startsWith('{') ? JSON.parse(text) : undefined }
  }
}
