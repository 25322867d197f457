import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'

// A key that got where the name of a filter or field is expected was in the error, and so in the client's log of
// errors.
test('no error repeats a key that stands in the place of a name', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const requested = async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/v1/${path}`, {
      headers,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) })
    })
    return { status: response.status, text: await response.text() }
  }
  const answers = [
    await requested(`patients?${secret}`),
    await requested(`patients?${secret}=1&${secret}=2`),
    await requested(`fhir/Patient?${secret}=1`),
    await requested('patients', { firstName: 'Ada', lastName: 'Byron', [secret]: true }),
    await requested('fhir/Patient', { resourceType: 'Patient', [secret]: true }),
    await requested('bulk/export', { [secret]: true })
  ]
  t.strictSame(answers.map(({ status }) => status), [400, 400, 400, 422, 422, 422])
  for (const { text } of answers) t.notMatch(text, secret)
})
