import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'

// The document promised to find any word of a text; FHIR servers find its start.
test('a search by :text finds what the document says: the start of a text or display, in any case', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const post = async (path: string, body: unknown): Promise<any> =>
    await (await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const { data: { id: patientId } } = await post('patients', { firstName: 'Ada', lastName: 'Byron' })
  await post('observations', {
    patientId,
    code: { system: 'http://loinc.org', code: '8867-4', display: 'Heart rate', text: 'Resting pulse' }
  })
  const found = async (words: string): Promise<number> =>
    ((await (await fetch(`${url}/v1/observations?code:text=${encodeURIComponent(words)}`, { headers })).json()) as any)
      .data.total
  const document = await (await fetch(`${url}/openapi.json`)).json() as any
  const { description } = Object.values<any>(document.components.parameters).find(({ name }) => name === 'code:text')
  t.equal(description, 'Start of its text or of a display, case-insensitive.')
  for (const words of ['heart', 'HEART r', 'resting']) t.equal(await found(words), 1, words)
  for (const words of ['rate', 'pulse']) t.equal(await found(words), 0, words)
})
