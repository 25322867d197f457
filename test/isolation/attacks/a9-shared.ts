import { defineSection } from './attack.js'

const types = [
  'CapabilityStatement',
  'CodeSystem',
  'CompartmentDefinition',
  'ConceptMap',
  'GraphDefinition',
  'ImplementationGuide',
  'MessageDefinition',
  'NamingSystem',
  'OperationDefinition',
  'SearchParameter',
  'StructureDefinition',
  'StructureMap',
  'Subscription',
  'TerminologyCapabilities',
  'ValueSet'
]
const unknown = [
  'SubscriptionTopic',
  'SubscriptionStatus',
  'Parameters',
  'OperationOutcome',
  'DomainResource',
  'Resource',
  'Nope',
  'ServiceDefinition',
  'BodySite',
  'Sequence',
  'constructor',
  'toString',
  'hasOwnProperty'
]

/** A9: what no tenant can have to itself, and what a datastore says of itself. */
export const shared = defineSection([
  ...types.flatMap(type => [
    {
      row: 'A9 shared type',
      send: `POST /${type}`,
      body: { resourceType: type, url: 'http://x.example/{secret}', status: 'active' },
      status: [403, 404, 405]
    },
    {
      row: 'A9 shared type',
      send: `PUT /${type}/{stranger}`,
      body: { resourceType: type, id: '{stranger}' },
      status: [403, 404, 405]
    },
    { row: 'A9 shared type', send: `DELETE /${type}/{stranger}`, status: [403, 404, 405] },
    { row: 'A9 shared type', send: `GET /${type}/{stranger}`, status: [404, 405] },
    { row: 'A9 shared type', send: `GET /${type}/{stranger}/_history`, status: [404, 405] },
    { row: 'A9 shared type', send: `GET /${type}?url=http://x.example/{secret}`, status: [400, 404, 405] },
    {
      row: 'A9 shared type',
      send: `POST /${type}/_search`,
      headers: ['content-type: application/x-www-form-urlencoded'],
      body: 'status=active',
      status: [404, 405]
    }
  ]),
  ...unknown.flatMap(type => [
    { row: 'A9 no type', send: `GET /${type}/{stranger}`, status: [404, 405] },
    { row: 'A9 no type', send: `GET /${type}`, status: [404, 405] },
    { row: 'A9 no type', send: `POST /${type}`, body: { resourceType: type }, status: [400, 404, 405] }
  ]),
  { row: 'A9 metadata', send: 'GET /metadata', status: [200, 404] },
  { row: 'A9 metadata', send: 'GET /metadata?mode=full', status: [200, 400, 404] },
  { row: 'A9 metadata', send: 'OPTIONS /', status: [400, 404, 405] },
  ...[
    'swagger-ui/',
    'api-docs',
    'mcp/messages',
    'actuator/health',
    'tester',
    '../actuator/env',
    'fhir/metadata',
    'h2-console'
  ].map(path => ({ row: 'A9 extras of a server', send: `GET /${path}`, status: [400, 404] })),
  { row: 'A9 AuditEvent', send: 'GET /AuditEvent?entity=Patient/{stranger}', status: [200, 400] },
  { row: 'A9 Group', send: 'GET /Group/{stranger}', status: 404 },
  { row: 'A9 Group export', send: 'GET /Group/{stranger}/$export', headers: ['prefer: respond-async'], status: 404 },
  {
    row: 'A9 Group export',
    send: 'GET /Group/{stranger}/$export?_type=Patient',
    headers: ['prefer: respond-async, handling=lenient'],
    status: 404
  },
  { row: 'A11 export', send: 'GET /$export?_typeFilter=Patient%3Ffamily%3D{theirMark}', status: 400 },
  { row: 'A11 export', send: 'GET /Patient/$export', status: 400 },
  ...[
    '_tag%3Durn:clinigate:tenant%7C{theirTenant}',
    '_has:Observation:subject:status%3Dfinal',
    'general-practitioner.name%3D{theirMark}',
    '_include%3DPatient:organization',
    '_sort%3D_id',
    '_lastUpdated%3Dgt2000',
    '_count%3D1',
    ''
  ].map(filter => ({
    row: 'A11 export',
    send: `GET /$export?_typeFilter=Patient%3F${filter}`,
    headers: ['prefer: respond-async'],
    status: 400
  })),
  ...[
    '_typePostFetchFilterUrl=Patient%3Factive%3Dtrue',
    '_exportId=1',
    '_includeHistory=true',
    '_mdm=true',
    'patient=Patient/{stranger}'
  ].map(query => ({
    row: 'A11 export',
    send: `GET /Patient/$export?${query}`,
    headers: ['prefer: respond-async'],
    status: 400
  })),
  { row: 'A11 export', send: 'GET /_export/{stranger}', status: 404 },
  { row: 'A11 export', send: 'DELETE /_export/{stranger}', status: 404 },
  { row: 'A11 export', send: 'GET /$export-poll-status?_jobId={stranger}', status: [404, 405] },
  { row: 'A11 export', send: 'DELETE /$export-poll-status?_jobId={stranger}', status: [404, 405] },
  {
    row: 'A11 import',
    send: 'POST /$import',
    headers: ['prefer: respond-async'],
    body: {
      resourceType: 'Parameters',
      parameter: [{ name: 'input', part: [{ name: 'url', valueUri: '{backend}/Patient' }] }]
    },
    status: 400
  }
])
