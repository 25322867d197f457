import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'

// What followed an ampersand that nobody had encoded was taken for a filter, and its name, a part of a patient's, was
// in the error.
test('a query whose part has no = is refused in words that do not repeat it', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const requested = async (path: string, init: RequestInit = {}): Promise<{ status: number, text: string }> => {
    const response = await fetch(`${url}/v1/${path}`, { ...init, headers: { 'x-api-key': secret, ...init.headers } })
    return { status: response.status, text: await response.text() }
  }
  const form = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'name=Smith&Jones'
  }
  for (const [path, init] of [
    ['patients?lastName=Smith&Jones'],
    ['patients?Jones'],
    ['bulk/jobs?Jones'],
    ['fhir/Patient?name=Smith&Jones'],
    ['fhir/Patient?name=Smith&Jones', { headers: { prefer: 'handling=lenient' } }],
    ['fhir/Patient/_search', form]
  ] as const) {
    const { status, text } = await requested(path, init)
    t.equal(status, 400, path)
    t.match(text, '%26')
    t.notMatch(text, /Jones|Smith/)
  }
  t.equal((await requested('patients?lastName=Smith%26Jones')).status, 200)
  t.equal((await requested('fhir/Patient?name=Smith%26Jones&_pretty')).status, 200)
})
