import { defineSection } from './attack.js'

/** A12: keys, scopes and the form of HTTP itself. */
export const http = defineSection([
  { row: 'A12 no key', send: 'GET /Patient/{stranger}', as: 'nobody', status: 401 },
  { row: 'A12 no key', send: 'GET /Patient/{own}', as: 'nobody', status: 401 },
  { row: 'A12 no key', send: 'GET /nosuch/{stranger}', as: 'nobody', status: [401, 404] },
  { row: 'A12 no key', send: 'POST /Patient', as: 'nobody', body: { resourceType: 'Patient' }, status: 401 },
  { row: 'A12 key twice', send: 'GET /Patient/{theirs}', headers: ['x-api-key: {ownKey}'], status: [400, 401] },
  {
    row: 'A12 key twice',
    send: 'GET /Patient/{theirs}',
    as: 'nobody',
    headers: ['x-api-key: {ownKey}', 'X-API-KEY: {ownKey}x'],
    status: [400, 401]
  },
  {
    row: 'A12 key twice',
    send: 'GET /Patient/{theirs}',
    as: 'nobody',
    headers: ['x-api-key: {ownKey},{ownKey}'],
    status: [400, 401]
  },
  {
    row: 'A12 key elsewhere',
    send: 'GET /Patient/{own}?x-api-key={ownKey}',
    as: 'nobody',
    status: [400, 401],
    hides: ['{ownKey}']
  },
  {
    row: 'A12 key as Bearer',
    send: 'GET /Patient/{own}',
    as: 'nobody',
    headers: ['authorization: Bearer {ownKey}'],
    status: 200,
    shows: ['{ownMark}'],
    hides: ['{ownKey}']
  },
  {
    row: 'A12 key as Bearer',
    send: 'GET /Patient/{stranger}',
    as: 'nobody',
    headers: ['authorization: Bearer {ownKey}'],
    status: 404,
    hides: ['{ownKey}']
  },
  {
    row: 'A12 two keys',
    send: 'GET /Patient/{own}',
    headers: ['authorization: Bearer {ownKeyAsLive}'],
    status: 401
  },
  {
    row: 'A12 two keys',
    send: 'GET /Patient/{own}',
    headers: ['authorization: Bearer evil.example'],
    status: 401,
    hides: ['evil.example']
  },
  {
    row: 'A12 key of the other mode',
    send: 'GET /Patient/{own}',
    as: 'nobody',
    headers: ['x-api-key: {ownKeyAsLive}'],
    status: 401
  },
  { row: 'A12 scope', send: 'GET /Patient/{stranger}', as: 'writer', status: 403 },
  { row: 'A12 scope', send: 'HEAD /Patient/{own}', as: 'writer', status: 403 },
  { row: 'A12 scope', send: 'GET /Patient/{own}/_history', as: 'writer', status: 403 },
  { row: 'A12 scope', send: 'GET /Patient', as: 'writer', status: 403 },
  {
    row: 'A12 scope',
    send: 'POST /Patient/_search',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: 'family={ownMark}',
    as: 'writer',
    status: 403
  },
  {
    row: 'A12 scope',
    send: 'POST /Patient/_search',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: 'family={ownMark}',
    as: 'reader',
    status: 200,
    shows: ['{ownMark}']
  },
  { row: 'A12 scope', send: 'GET /Patient/{own}', as: 'reader', status: 200, shows: ['{ownMark}'] },
  { row: 'A12 scope', send: 'POST /Patient', body: { resourceType: 'Patient' }, as: 'writer', status: 201 },
  {
    row: 'A12 scope',
    send: 'POST /Patient',
    headers: ['if-none-exist: identifier=urn:mrn|{ownMark}'],
    body: { resourceType: 'Patient' },
    as: 'writer',
    status: 403
  },
  { row: 'A12 HTTP/1.0', send: 'GET /Patient/{stranger}', http: '1.0', status: 404 },
  { row: 'A12 HTTP/1.0', send: 'GET /Patient/{own}', http: '1.0', status: 200, shows: ['{ownMark}'] },
  {
    row: 'A12 framing',
    send: 'POST /Patient',
    headers: ['content-length: 5', 'transfer-encoding: chunked'],
    body: '0\r\n\r\nGET /v1/fhir/Patient/{theirs} HTTP/1.1\r\nhost: x\r\n\r\n',
    status: 400
  },
  {
    row: 'A12 framing',
    send: 'POST /Patient',
    headers: ['content-length: 0', 'content-length: 10'],
    body: '{"resource',
    status: 400
  },
  {
    row: 'A12 framing',
    send: 'POST /Patient',
    headers: ['transfer-encoding: x-chunked'],
    body: '0\r\n\r\n',
    status: [400, 501]
  },
  { row: 'A12 framing', send: 'GET /Patient/{stranger}', headers: ['x y: z'], status: 400 },
  { row: 'A12 framing', send: 'GET /Patient/{stranger}', headers: ['x: a\rX-Evil: 1'], status: 400 },
  { row: 'A12 framing', send: 'GET /Patient/{theirs} {own}', status: 400 },
  {
    row: 'A12 body of a read',
    send: 'GET /Patient/{stranger}',
    body: { resourceType: 'Patient', id: '{own}' },
    status: [400, 404, 415]
  },
  {
    row: 'A12 body of a read',
    send: 'GET /Patient/{own}',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: '_id={theirs}',
    status: [200, 400, 415],
    hides: ['"id":"{theirs}"']
  },
  {
    row: 'A12 body of a read',
    send: 'DELETE /Patient/{stranger}',
    body: { resourceType: 'Patient', id: '{own}' },
    status: [400, 404, 415]
  },
  { row: 'A12 simple resources', send: 'GET !/v1/patients/{stranger}', status: 404 },
  { row: 'A12 simple resources', send: 'GET !/v1/patients?lastName={secret}', status: 200, shows: ['"total":0'] },
  {
    row: 'A12 simple resources',
    send: 'PATCH !/v1/patients/{stranger}',
    headers: ['content-type: application/json'],
    body: '{}',
    status: 404
  },
  { row: 'A12 simple resources', send: 'DELETE !/v1/patients/{stranger}', status: 404 },
  { row: 'A12 simple resources', send: 'GET !/v1/patients/{stranger}?include=observations', status: 404 }
])
