import { section } from './attack.js'

/** Spellings of a path that one server or another reads as a path to a record. */
const spellings = [
  '/Patient//{stranger}', '//Patient/{stranger}', '/Patient/{stranger}/', '/Patient/{stranger}//', '/./Patient/{stranger}', '/Patient/./{stranger}',
  '/Observation/../Patient/{stranger}', '/Patient/{own}/../{stranger}', '/Patient/{own}/%2e%2e/{stranger}', '/Patient/..%2FPatient%2F{stranger}',
  '/Patient%2F{stranger}', '/Patient/{stranger}%2F_history', '/Patient/%257Bx%257D/{stranger}', '/Patient/{stranger};jsessionid=1', '/Patient;x=1/{stranger}',
  '/Patient/{stranger}%00', '/Patient/{stranger}%0d%0aX-Evil:1', '/Patient/{stranger}%20', '/Patient/%20{stranger}', '/Patient\\{stranger}', '/Patient/{stranger}\\',
  '/Patient/{stranger}%3F_format=xml', '/Patient/{stranger}%23x', '/Patient/{stranger}|1', '/Patient/{stranger},{own}', '/Patient/{own},{stranger}',
  '/PATIENT/{stranger}', '/patient/{stranger}', '/Patient/Patient/{stranger}', '/fhir/Patient/{stranger}', '/Patient/{stranger}/Observation/x/y',
  '/Patient/{stranger}/_history/1/_history/1', '/Patient/{stranger}/_history/1/$meta', '/Patient/{stranger}/%24meta', '/Patient/{stranger}/_HISTORY',
  '/Patient/%EF%BC%8F{stranger}', '/Patient/{stranger}%C0%AF', '/Patient/{stranger}/%5Fhistory/../', '/.well-known/smart-configuration', '/Patient/*', '/*', '/Patient/_search/{stranger}'
]

/** A2: one spelling of each path, and no other. */
export const paths = section([
  ...spellings.map(path => ({ row: 'A2 spelling', send: `GET ${path}`, status: [400, 404, 405] })),
  ...['/Patient//{stranger}', '/Patient/{own}/../{stranger}', '/Patient/{own}/%2e%2e/{stranger}', '/Patient/{stranger}/', '/Patient/{stranger};x=1', '/Patient/{stranger}%00', '/Patient%2F{stranger}']
    .flatMap(path => ['PUT', 'DELETE', 'PATCH', 'POST'].map(method => ({ row: 'A2 spelling of a write', send: `${method} ${path}`, body: method === 'DELETE' ? undefined : { resourceType: 'Patient', id: '{stranger}' }, status: [400, 404, 405, 415] }))),
  { row: 'A2 encoded twice', send: 'GET /Patient/{ownEncodedTwice}', status: [400, 404] },
  { row: 'A2 encoded twice', send: 'GET /Patient/{theirsEncodedTwice}', status: [400, 404] },
  { row: 'A2 encoded once', send: 'GET /Patient/{ownEncoded}', status: 200, shows: ['{ownMark}'] },
  { row: 'A2 encoded once', send: 'GET /Patient/{theirsEncoded}', status: 404 },
  { row: 'A2 encoded once', send: 'GET /%50atient/{theirsEncoded}', status: 404 },
  { row: 'A2 absolute form', send: 'GET !http://127.0.0.1/v1/fhir/Patient/{stranger}', status: [400, 404] },
  { row: 'A2 absolute form', send: 'GET !{backend}/Patient/{stranger}', status: [400, 404] },
  { row: 'A2 absolute form', send: 'GET !http:///Patient/{stranger}', status: [400, 404] },
  { row: 'A2 absolute form', send: 'GET !http://x/v1/fhir//Patient/{stranger}', status: [400, 404] },
  { row: 'A2 absolute form', send: 'GET !https://gateway.test/v1/fhir/Patient/{theirs}', status: [400, 404] },
  { row: 'A2 other targets', send: 'OPTIONS !*', status: [400, 404, 405] },
  { row: 'A2 other targets', send: 'GET !/v1/fhir/../fhir/Patient/{stranger}', status: [400, 404] },
  { row: 'A2 other targets', send: 'GET !/v1//fhir/Patient/{stranger}', status: 404 },
  { row: 'A2 other targets', send: 'GET !/v1/%66hir/Patient/{stranger}', status: 404 },
  { row: 'A2 other targets', send: 'GET !/v1/fhir%2FPatient/{stranger}', status: [400, 404] },
  { row: 'A2 other targets', send: 'GET !/V1/fhir/Patient/{stranger}', status: [401, 404] },
  { row: 'A2 other targets', send: 'GET !/fhir/Patient/{stranger}', status: [401, 404] },
  { row: 'A2 other targets', send: 'GET !/v1/fhir/Patient/{stranger}#/own', status: [400, 404] },
  { row: 'A2 other targets', send: 'GET !v1/fhir/Patient/{stranger}', status: [400, 404] },
  { row: 'A2 long ids', send: `GET /Patient/{stranger}${'a'.repeat(64)}`, status: 404 },
  { row: 'A2 long ids', send: `GET /Patient/${'a'.repeat(9_000)}`, status: [404, 414, 431] },
  { row: 'A2 root', send: 'GET /', status: [200, 400, 404, 405] },
  { row: 'A2 root', send: 'GET /?_type=Patient', status: [400, 404, 405] },
  { row: 'A2 root', send: 'GET ?_getpages={theirPages}', status: [400, 404, 405] },
  { row: 'A2 root', send: 'GET /?_getpages={theirPages}&_getpagesoffset=0&_count=10', status: [400, 404, 405] },
  { row: 'A2 root', send: 'POST /_search', headers: ['content-type: application/x-www-form-urlencoded'], body: '_type=Patient', status: [400, 404, 405] }
])
