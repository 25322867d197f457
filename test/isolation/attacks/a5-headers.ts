import { form, defineSection } from './attack.js'

const stranger = { resourceType: 'Patient', id: '{stranger}', name: [{ family: '{ownMark}' }] }
const patient = { resourceType: 'Patient', id: '{ownEdit}', name: [{ family: '{ownMark}' }] }

/** Headers that change what one server or another does; none of them may reach it. */
const hostile = [
  'content-location: Patient/{theirs}',
  'content-location: {backend}/Patient/{theirs}',
  'x-request-partition-ids: 1',
  'x-rewrite-history: true',
  'x-meta-snapshot-mode: TAG',
  'x-upsert-extistence-check: disabled',
  'x-retry-on-version-conflict: retry; max-retries=9',
  'x-transaction-semantics: true',
  'x-cascade: delete',
  'x-security-context: Patient/{theirs}',
  'x-request-source: http://evil.example',
  'x-fhir-starter: x',
  'x-progress: x',
  'x-forwarded-host: evil.example',
  'x-forwarded-proto: https',
  'x-forwarded-prefix: /evil.example',
  'x-forwarded-for: 127.0.0.1',
  'forwarded: host=evil.example',
  'cookie: JSESSIONID=x',
  'authorization: Basic evil.example',
  'x-ms-profile-validation: true',
  'x-bundle-processing-logic: parallel',
  'x-provenance: {"resourceType":"Provenance","target":[{"reference":"Patient/{theirs}"}]}',
  'x-conditionalquery-processing-logic: parallel',
  'x-original-url: /v1/fhir/Patient/{theirs}',
  'x-rewrite-url: /v1/fhir/Patient/{theirs}',
  'x-original-method: DELETE',
  'x-tenant-id: {theirTenant}',
  'x-clinigate-tenant: {theirTenant}',
  'accept-language: evil.example',
  'accept-charset: utf-16',
  'accept-encoding: gzip',
  'te: trailers',
  'via: 1.1 evil.example',
  'origin: http://evil.example',
  'referer: http://evil.example',
  'user-agent: evil.example',
  'x-api-version: 9',
  'from: evil.example',
  'if-schedule-tag-match: x',
  'max-forwards: 0',
  'expect: 100-continue',
  'dpop: x',
  'x-correlation-id: evil.example',
  'traceparent: 00-evil.example'
]

/** A5: nothing that a client says in a header goes on; nothing that the datastore says in one comes back. */
export const headers = defineSection([
  ...hostile.flatMap(header => [
    {
      row: 'A5 header on a read',
      send: 'GET /Patient/{stranger}',
      headers: [header],
      status: 404,
      hides: ['evil.example']
    },
    {
      row: 'A5 header on a read',
      send: 'GET /Patient/{own}',
      headers: [header],
      status: 200,
      shows: ['{ownMark}'],
      hides: ['evil.example']
    },
    {
      row: 'A5 header on a search',
      send: 'POST /Patient/_search',
      headers: [form, header],
      body: 'family={secret}',
      status: 200,
      shows: ['"total":0'],
      hides: ['evil.example']
    },
    {
      row: 'A5 header on an update',
      send: 'PUT /Patient/{ownEdit}',
      headers: [header],
      body: patient,
      status: 200,
      shows: ['{ownEdit}'],
      hides: ['evil.example']
    },
    {
      row: 'A5 header on an update',
      send: 'PUT /Patient/{stranger}',
      headers: [header],
      body: stranger,
      status: 404,
      hides: ['evil.example']
    },
    {
      row: 'A5 header on a delete',
      send: 'DELETE /Patient/{stranger}',
      headers: [header],
      status: 404,
      hides: ['evil.example']
    }
  ]),
  {
    row: 'A5 Host',
    send: 'GET /Patient?_count=1',
    headers: ['!host: evil.example'],
    status: 200,
    hides: ['evil.example']
  },
  {
    row: 'A5 Host',
    send: 'POST /Patient',
    headers: ['!host: evil.example'],
    body: { resourceType: 'Patient' },
    status: 201,
    hides: ['evil.example']
  },
  { row: 'A5 Host', send: 'GET /Patient/{own}', headers: ['host: evil.example'], status: 400, hides: ['evil.example'] },
  { row: 'A5 request id', send: 'GET /Patient/{stranger}', headers: ['!x-request-id: {theirs}'], status: 404 },
  {
    row: 'A5 request id',
    send: 'POST /Patient',
    headers: ['!x-request-id: http://evil.example/#{theirs}'],
    body: { resourceType: 'Patient' },
    status: 201,
    hides: ['evil.example']
  },
  {
    row: 'A5 doubled',
    send: 'PUT /Patient/{ownEdit}',
    headers: ['content-type: application/fhir+json', 'content-type: application/fhir+xml'],
    body: patient,
    status: [200, 400, 415]
  },
  {
    row: 'A5 doubled',
    send: 'PUT /Patient/{stranger}',
    headers: ['if-match: W/"1"', 'if-match: W/"1"'],
    body: stranger,
    status: [400, 404]
  },
  {
    row: 'A5 doubled',
    send: 'GET /Patient/{stranger}',
    headers: ['accept: application/fhir+json', 'accept: application/fhir+xml'],
    status: [404, 406]
  },
  {
    row: 'A5 doubled',
    send: 'POST /Patient',
    headers: ['if-none-exist: identifier=x', 'if-none-exist: identifier={theirMark}'],
    body: { resourceType: 'Patient' },
    status: [201, 400, 412, 422]
  }
])
