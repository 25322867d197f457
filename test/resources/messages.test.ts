import t from 'tap'
import { type Client, createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

async function startClient (t: import('tap').Test): Promise<Client> {
  return await createGatewayClient(await startGateway(t))
}

t.test('a request or an Accept of another media type is rejected with those of its route', async t => {
  const { send } = await startClient(t)
  t.match(await send('GET', 'bulk/jobs/none/results', undefined, { accept: 'application/json' }), {
    status: 406,
    body: { message: /^Accept application\/fhir\+ndjson or application\/x-ndjson/ }
  })
  t.match(await send('GET', 'patients', undefined, { accept: 'text/html' }), {
    status: 406,
    body: { message: 'Accept application/json or application/fhir+json.' }
  })
  for (const type of ['text/csv', '']) {
    t.match(
      await send('POST', 'bulk/import', {}, { 'content-type': type }),
      { status: 415, body: { message: /Content-Type.*application\/x-ndjson/ } },
      type
    )
  }
  t.match(await send('POST', 'patients', {}, { 'content-type': 'text/csv' }), {
    status: 415,
    body: { message: /^Send the Content-Type header .*: application\/json or application\/fhir\+json\.$/ }
  })
})

t.test('several values of one filter are to be joined only where that finds any of them', async t => {
  const { send } = await startClient(t)
  for (const [query, message] of [
    ['lastName=a&lastName=b', /takes only one value/],
    ['birthDate=1990&birthDate=1991', /takes only one value/],
    ['active=true&active=false', /takes only one value/],
    ['count=1&count=2', /takes only one value/],
    ['id=a&id=b', /comma/],
    ['gender=male&gender=female', /comma/]
  ] as const) {
    t.match(await send('GET', `patients?${query}`), { status: 400, body: { issues: [{ diagnostics: message }] } }, query)
  }
})

t.test('a code that no record can have is rejected as a filter, with the valid ones', async t => {
  const { send } = await startClient(t)
  const { data: { id } } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', gender: 'female' })
  for (const [path, message] of [
    ['patients?gender=Male', /male, female, other, unknown$/],
    ['patients?gender=female,none', /female/],
    ['encounters?status=foo', /planned/]
  ] as const) { t.match(await send('GET', path), { status: 400, body: { issues: [{ diagnostics: message }] } }, path) }
  for (const gender of ['female', 'male,female']) {
    t.match(
      await send('GET', `patients?gender=${encodeURIComponent(gender)}`),
      { status: 200, data: { data: [{ id }] } },
      gender
    )
  }
  for (const path of [
    'encounters?status=in_progress',
    'encounters?class=SOMETHING',
    'medications?status=entered-in-error',
    'goals?status=active',
    `patients?gender=${encodeURIComponent('http://hl7.org/fhir/administrative-gender|female')}`
  ]) { t.match(await send('GET', path), { status: 200 }, path) }
})

t.test('an empty list and null are to be left out of a new record', async t => {
  const { send } = await startClient(t)
  const person = { firstName: 'Ada', lastName: 'Byron' }
  for (const languages of [[], null]) {
    t.match(
      await send('POST', 'practitioners', { ...person, languages }),
      { status: 422, body: { issues: [{ expression: ['languages'], diagnostics: /leave (?:it|the field) out/ }] } },
      JSON.stringify(languages)
    )
  }
  t.match(await send('POST', 'practitioners', { ...person, nonsense: null }), {
    status: 422,
    body: { issues: [{ diagnostics: /no such field/ }] }
  })
})

t.test('text that ends with a line break is rejected with that reason', async t => {
  const { send } = await startClient(t)
  t.match(await send('POST', 'patients', { firstName: 'Ada\n', lastName: 'Byron' }), {
    status: 422,
    body: { issues: [{ expression: ['firstName'], diagnostics: /line breaks/ }] }
  })
})

t.test('a reference that leads nowhere is reported by its place in its field', async t => {
  const { send } = await startClient(t)
  const { data: { id } } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const {
    data: { id: observation }
  } = await send('POST', 'observations', { patientId: id, code: 'x', status: 'final', valueString: 'y' })
  const { data: { id: practitioner } } = await send('POST', 'practitioners', { firstName: 'Grace', lastName: 'Hopper' })
  const listIssuePaths = async (path: string, body: object): Promise<string[]> => {
    const { status, body: { issues } } = await send('POST', path, body)
    t.equal(status, 422, path)
    return issues.flatMap(({ expression }: { expression: string[] }) => expression)
  }
  t.strictSame(
    await listIssuePaths('labs', {
      patientId: id,
      code: 'x',
      status: 'final',
      resultIds: [observation, 'nope', observation, 'none']
    }),
    ['resultIds[1]', 'resultIds[3]']
  )
  t.strictSame(
    await listIssuePaths('labs', { patientId: 'nope', code: 'x', status: 'final', resultIds: ['nope'] }),
    ['patientId', 'resultIds[0]'].slice(0)
  )
  t.strictSame(
    await listIssuePaths('care-teams', {
      name: 'x',
      patientId: id,
      status: 'active',
      participant: [{ memberId: `Practitioner/${practitioner}` }, { memberId: 'Practitioner/nope' }]
    }),
    ['participant[1].memberId']
  )
})

// A key in the place of the name of a filter or field was in the error, and so in the client's log of errors.
t.test('no error repeats a key that is in the place of a name', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const sendRequest = async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/v1/${path}`, {
      headers,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) })
    })
    return { status: response.status, text: await response.text() }
  }
  const responses = [
    await sendRequest(`patients?${secret}`),
    await sendRequest(`patients?${secret}=1&${secret}=2`),
    await sendRequest(`fhir/Patient?${secret}=1`),
    await sendRequest('patients', { firstName: 'Ada', lastName: 'Byron', [secret]: true }),
    await sendRequest('fhir/Patient', { resourceType: 'Patient', [secret]: true }),
    await sendRequest('bulk/export', { [secret]: true })
  ]
  t.strictSame(responses.map(({ status }) => status), [400, 400, 400, 422, 422, 422])
  for (const { text } of responses) t.notMatch(text, secret)
})
