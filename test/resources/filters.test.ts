import t from 'tap'
import { readSimpleSearch } from '../../src/api/resources/query.js'
import { notes } from '../../src/mappings/resources/notes.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { paymentNotices } from '../../src/mappings/resources/payment-notices.js'
import { startGateway } from '../harness/gateway.js'

// The datastore got the empty value, and rejected it or not.
t.test('a comma with nothing before or after it is rejected', async t => {
  for (const query of ['gender=male,', 'gender=,male', 'gender=male,%20,female', 'gender=,', 'id=1,', 'name:text=']) {
    t.throws(() => readSimpleSearch(patients, query), { code: 'BAD_REQUEST' }, query)
  }
  for (const query of ['identifier=a%5C,', 'name=Byron,', 'gender=male,female']) {
    t.doesNotThrow(() => readSimpleSearch(patients, query), query)
  }
})

// The look-up of a filter found inherited members of every object, and the datastore got a parameter named undefined.
t.test('a filter named like a member that every object has is unknown', async t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', '__defineGetter__']) {
    t.throws(() => readSimpleSearch(patients, `${name}=1`), { code: 'UNKNOWN_FILTER' }, name)
    t.throws(() => readSimpleSearch(patients, `${name}:text=1`), { code: 'UNKNOWN_FILTER' }, name)
    t.throws(() => readSimpleSearch(patients, `sort=${name}`), { code: 'BAD_REQUEST' }, name)
  }
})

// HAPI rejected the search, and the response did not say which filters cannot be combined.
t.test('two filters that bound the same dates from the same side are rejected by name', async t => {
  for (const query of ['date=2026-03-14&dateFrom=2026', 'dateFrom=2025&date=2026-03-14&dateTo=2026']) {
    t.throws(
      () => readSimpleSearch(notes, query),
      { code: 'BAD_REQUEST', issues: [{ diagnostics: /cannot be combined with/ }] },
      query
    )
  }
  for (const query of ['date=2026-03-14', 'dateFrom=2025&dateTo=2026', 'date=2026-03-14&periodFrom=2025']) {
    t.doesNotThrow(() => readSimpleSearch(notes, query), query)
  }
  t.throws(() => readSimpleSearch(paymentNotices, 'createdFrom=2025&dateFrom=2026'), {
    code: 'BAD_REQUEST',
    issues: [{ expression: ['createdFrom'] }]
  })
  t.doesNotThrow(() => readSimpleSearch(paymentNotices, 'createdFrom=2025&dateTo=2026'))
})

// A client that did not encode the plus sign got a message to send a time with its zone, which it had.
t.test('a time whose plus sign became a space is rejected with how to write it', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const searchFrom = async (time: string) =>
    (
      await gateway.inject({
        method: 'GET',
        url: `/v1/observations?dateFrom=${time}`,
        headers: { 'x-api-key': secret }
      })
    ).json()
  t.match(await searchFrom('2026-03-14T09:30:00+02:00'), { code: 'BAD_REQUEST', message: /%2B/ })
  t.match(await searchFrom('2026-03-14T09:30+02:00'), { code: 'BAD_REQUEST', message: /%2B/ })
  t.notMatch((await searchFrom('yesterday')).message, /%2B/)
  t.match(await searchFrom('2026-03-14T09:30:00%2B02:00'), { data: [] })
})

// Text after an ampersand that was not encoded was taken for a filter, and its name, a part of a patient's, was in the
// error.
t.test('a query whose part has no = is rejected with a message that does not repeat it', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const sendRequest = async (path: string, init: RequestInit = {}): Promise<{ status: number, text: string }> => {
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
    const { status, text } = await sendRequest(path, init)
    t.equal(status, 400, path)
    t.match(text, '%26')
    t.notMatch(text, /Jones|Smith/)
  }
  t.equal((await sendRequest('patients?lastName=Smith%26Jones')).status, 200)
  t.equal((await sendRequest('fhir/Patient?name=Smith%26Jones&_pretty')).status, 200)
})

// The document promised to find any word of a text; FHIR servers find its start.
t.test('a search by :text finds the documented part: the start of a text or display, in any case', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const postJson = async (path: string, body: unknown): Promise<any> =>
    await (await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const { data: { id: patientId } } = await postJson('patients', { firstName: 'Ada', lastName: 'Byron' })
  await postJson('observations', {
    patientId,
    code: { system: 'http://loinc.org', code: '8867-4', display: 'Heart rate', text: 'Resting pulse' }
  })
  const countMatches = async (words: string): Promise<number> =>
    ((await (await fetch(`${url}/v1/observations?code:text=${encodeURIComponent(words)}`, { headers })).json()) as any)
      .data.total
  const document = await (await fetch(`${url}/openapi.json`)).json() as any
  const { description } = Object.values<any>(document.components.parameters).find(({ name }) => name === 'code:text')
  t.equal(description, 'Start of its text or of a display, case-insensitive.')
  for (const words of ['heart', 'HEART r', 'resting']) t.equal(await countMatches(words), 1, words)
  for (const words of ['rate', 'pulse']) t.equal(await countMatches(words), 0, words)
})
