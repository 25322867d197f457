import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../harness/gateway.js'

/** A gateway in front of the sandbox with one patient, and a function that sends GET requests to it. */
async function withPatient (t: Test) {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret }
  const created = await inject({
    method: 'POST',
    url: '/v1/patients',
    headers,
    payload: { firstName: 'Ada', lastName: 'One', phone: '+15551234' }
  })
  const { id } = created.json().data as { id: string }
  const get = (url: string, more: Record<string, string> = {}) => inject({ url, headers: { ...headers, ...more } })
  return { id, get, inject, secret }
}

t.test('an unreadable date or entity tag of a read is ignored, and a readable one is obeyed', async t => {
  const { id, get } = await withPatient(t)
  const later = new Date(Date.now() + 86_400_000)
  const getStatus = async (headers: Record<string, string>) => (await get(`/v1/fhir/Patient/${id}`, headers)).statusCode
  for (const text of ['2037-01-01T00:00:00Z', '2037', 'tomorrow', '1', 'Thu, 01 Jan 2037', '']) {
    t.equal(await getStatus({ 'if-modified-since': text }), 200, text)
  }
  const [, day, month, year, time] = later.toUTCString().split(' ')
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  const longDay = days[later.getUTCDay()]!
  for (const text of [
    later.toUTCString(),
    `${longDay}, ${day}-${month}-${year!.slice(2)} ${time} GMT`,
    `${longDay.slice(0, 3)} ${month} ${day!.replace(/^0/, ' ')} ${time} ${year}`
  ]) {
    t.equal(await getStatus({ 'if-modified-since': text }), 304, text)
  }
  for (const url of [`/v1/fhir/Patient/${id}`, `/v1/patients/${id}`, `/v1/patients/${id}?include=appointments`]) {
    for (const text of ['B^n', '"1', 'W/"a b"', '"1", x']) {
      t.equal((await get(url, { 'if-none-match': text })).statusCode, 200, `${url} ${text}`)
    }
  }
  for (const text of ['W/"1"', '1', '*', '"0", "1"']) {
    t.equal((await get(`/v1/patients/${id}`, { 'if-none-match': text })).statusCode, 304, text)
  }
})

t.test('JSON is accepted by every name that FHIR had for it, and R4 by every number', async t => {
  const { get, inject, secret } = await withPatient(t)
  const versions = [
    '',
    ';fhirVersion=4.0',
    '; fhirVersion=4.0.1',
    '; fhirVersion="4.0.1"',
    '; fhirVersion=4.0; charset=utf-8'
  ]
  for (const name of ['application/json', 'application/fhir+json', 'application/json+fhir', 'text/json']) {
    for (const version of versions) {
      for (const url of ['/v1/patients', '/v1/fhir/Patient', '/v1/metadata', '/v1/fhir/metadata']) {
        t.equal((await get(url, { accept: name + version })).statusCode, 200, `${url} ${name}${version}`)
      }
      t.equal(
        (await get(`/v1/fhir/Patient?_format=${encodeURIComponent(name + version)}`)).statusCode,
        200,
        `_format=${name}${version}`
      )
    }
    for (const version of ['3.0', '5.0', '4.3']) {
      t.equal((await get('/v1/fhir/Patient', { accept: `${name}; fhirVersion=${version}` })).statusCode, 406, version)
    }
    for (const [url, payload] of [
      ['/v1/patients', '{"firstName":"A","lastName":"B"}'],
      ['/v1/fhir/Patient', '{"resourceType":"Patient","active":true}']
    ] as const) {
      t.equal(
        (
          await inject({
            method: 'POST',
            url,
            headers: { 'x-api-key': secret, 'content-type': `${name}; fhirVersion=4.0` },
            payload
          })
        ).statusCode,
        201,
        `${url} ${name}`
      )
    }
  }
  for (const format of ['JSON', 'Json', 'json', 'application/json+fhir', 'application/fhir+json', 'APPLICATION/JSON']) {
    t.equal((await get(`/v1/fhir/Patient?_format=${format}`)).statusCode, 200, format)
  }
  for (const format of [
    'xml',
    'ttl',
    'application/fhir+xml',
    'application/fhir%2Bjson;fhirVersion=3.0',
    'constructor'
  ]) {
    t.equal((await get(`/v1/fhir/Patient?_format=${format}`)).statusCode, 406, format)
  }
})

t.test('a search takes as many ids as a page has records', async t => {
  const { id, get } = await withPatient(t)
  const ids = [...Array.from({ length: 99 }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`), id]
  for (const url of [
    `/v1/patients?count=100&id=${ids.join(',')}`,
    `/v1/fhir/Patient?_count=100&_id=${ids.join(',')}`
  ]) {
    const found = await get(url)
    t.equal(found.statusCode, 200)
    t.match(found.body, id)
  }
  t.equal((await get(`/v1/conditions?patientId=${ids.join(',')}`)).statusCode, 200)
  t.equal((await get(`/v1/patients?name=${'x'.repeat(2_001)}`)).statusCode, 400)
})

t.test('OPTIONS needs no key, names the methods of a path and allows no other origin', async t => {
  const { inject } = await startGateway(t)
  const origin = {
    origin: 'https://app.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'x-api-key'
  }
  for (const [url, allow] of [
    ['/v1/patients', 'GET, HEAD, POST'],
    ['/v1/patients/1', 'DELETE, GET, HEAD, PATCH'],
    ['/v1/fhir/Patient', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    ['/v1/fhir/Patient/1', 'GET, HEAD, PUT, PATCH, DELETE'],
    ['/v1/fhir', 'POST'],
    ['/v1/fhir/metadata', 'GET, HEAD'],
    ['/health', 'GET, HEAD']
  ] as const) {
    const response = await inject({ method: 'OPTIONS', url, headers: origin })
    t.strictSame([response.statusCode, response.headers.allow], [405, allow], url)
    t.strictSame(
      Object.keys(response.headers).filter(name => name.startsWith('access-control')),
      [],
      url
    )
  }
  for (const url of ['/v1/nothing', '/v1/fhir/Nothing']) {
    t.equal((await inject({ method: 'OPTIONS', url, headers: origin })).statusCode, 404, url)
  }
  t.equal((await inject({ method: 'GET', url: '/v1/fhir/Patient' })).statusCode, 401)
})

t.test('a value that begins with a space is rejected with how to encode a plus sign', async t => {
  const { get } = await withPatient(t)
  for (const url of [
    '/v1/patients?phone=+15551234',
    '/v1/patients?name=+Ada',
    '/v1/conditions?code:text=+pain',
    '/v1/conditions?code=+1',
    '/v1/patients?birthDate=+1970',
    '/v1/fhir/Patient?phone=+15551234',
    '/v1/fhir/Patient?telecom=%20%2B15551234',
    '/v1/fhir/Observation?subject:Patient.phone=+1',
    '/v1/fhir/Patient?_has:Observation:subject:code=+1'
  ]) {
    const refused = await get(url)
    t.equal(refused.statusCode, 400, url)
    t.match(refused.body, /write a plus sign as %2B/, url)
  }
  t.equal((await get('/v1/patients?phone=%2B15551234')).json().data.total, 1)
})

t.test('a path with one slash too many is rejected with that reason', async t => {
  const { id, get } = await withPatient(t)
  for (const url of [
    '/v1/patients/',
    '/v1//patients',
    `/v1/patients/${id}/`,
    '/v1/fhir/Patient/',
    '/v1/fhir//Patient',
    `/v1/fhir/Patient//${id}`,
    '/health/'
  ]) {
    const refused = await get(url)
    t.equal(refused.statusCode, 404, url)
    t.match(refused.body, /slash too many/, url)
  }
  t.notMatch((await get('/v1/nothing/')).body, /slash too many/)
})

t.test('for a misspelled path the message names the intended one, and none of its own words', async t => {
  const { id, get } = await withPatient(t)
  const fetchMessage = async (url: string) => {
    const response = await get(url)
    t.equal(response.statusCode, 404, url)
    return (response.json() as { readonly message: string }).message
  }
  for (const url of ['/v1/patient', `/v1/patient/${id}`, '/v1/Patients', '/v1/patiens?limit=1', `/v1/Patient/${id}/x`]) {
    t.equal(await fetchMessage(url), 'Check the path; did you mean /v1/patients?', url)
  }
  for (const url of [`/v1/patients/${id}/x`, '/v1/quite-another', '/v1/%F0%9F%98%80', '/v2/patient', '/patients', '/']) {
    t.equal(await fetchMessage(url), 'Check the path and the id.', url)
  }
  t.match(await fetchMessage('/v1/patients/'), /slash/)
})
