import { defineSection } from './attack.js'

/** Operations that some server offers and that no client of a shared one may have, at each level. */
const denied = [
  '$graphql',
  '$meta',
  '$meta-add',
  '$meta-delete',
  '$diff',
  '$lastn',
  '$document',
  '$summary',
  '$match',
  '$member-match',
  '$process-message',
  '$expunge',
  '$delete-expunge',
  '$reindex',
  '$hapi.fhir.reindex',
  '$mark-all-resources-for-reindexing',
  '$perform-reindexing-pass',
  '$get-resource-counts',
  '$partition-management-create-partition',
  '$import-poll-status',
  '$export-poll-status',
  '$merge',
  '$hapi.fhir.replace-references',
  '$hapi.fhir.merge',
  '$hapi.fhir.bulk-patch',
  '$binary-access-read',
  '$binary-access-write',
  '$trigger-subscription',
  '$get-ws-binding-token',
  '$upload-external-code-system',
  '$apply-codesystem-delta-add',
  '$invalidate-expansion',
  '$snapshot',
  '$mdm-query-links',
  '$cql',
  '$apply',
  '$evaluate-measure',
  '$submit-data',
  '$care-gaps',
  '$bulk-delete',
  '$bulk-update',
  '$convert-data',
  '$purge-history',
  '$versions',
  '$preferred-id',
  '$everything',
  '$Everything',
  '$EVERYTHING',
  '$nosuch'
]

const query = '?from=Patient/{theirs}&to=Patient/{own}&query={PatientList{id}}&_tag=x'.replace(
  '{PatientList{id}}',
  '%7BPatientList%7Bid%7D%7D'
)

/** A8: only operations on the list are offered, and none of them reaches beyond a tenant. */
export const operations = defineSection([
  ...denied.flatMap(operation => [
    { row: 'A8 system operation', send: `GET /${operation}${query}`, status: [404, 405] },
    {
      row: 'A8 system operation',
      send: `POST /${operation}`,
      body: { resourceType: 'Parameters' },
      status: [404, 405]
    },
    { row: 'A8 type operation', send: `GET /Patient/${operation}`, status: [404, 405] },
    {
      row: 'A8 type operation',
      send: `POST /Patient/${operation}`,
      body: { resourceType: 'Parameters' },
      status: [404, 405]
    },
    ...(operation === '$everything'
      ? []
      : [{ row: 'A8 instance operation', send: `GET /Patient/{stranger}/${operation}`, status: [404, 405] }]),
    {
      row: 'A8 instance operation',
      send: `POST /Patient/{stranger}/${operation}`,
      body: { resourceType: 'Parameters' },
      status: [404, 405]
    },
    {
      row: 'A8 instance operation',
      send: `POST /Observation/{stranger}/${operation}`,
      body: { resourceType: 'Parameters' },
      status: [404, 405]
    }
  ]),
  ...['GET /$import', 'POST /Patient/$import', 'GET /Patient/{stranger}/$export', 'GET /Observation/$export'].map(
    send => ({ row: 'A8 bulk elsewhere', send, status: [404, 405] })
  ),
  { row: 'A8 encoded', send: 'GET /Patient/%24everything', status: [404, 405] },
  { row: 'A8 encoded', send: 'GET /Patient/{stranger}/%24meta', status: [404, 405] },
  { row: 'A8 encoded', send: 'GET /Patient/{stranger}/%2524meta', status: 404 },
  { row: 'A8 version operation', send: 'GET /Patient/{stranger}/_history/1/$meta', status: [404, 405] },
  { row: 'A8 $everything', send: 'GET /Patient/{stranger}/$everything', status: 404 },
  { row: 'A8 $everything', send: 'GET /Patient/{stranger}/$everything?_count=1&_type=Observation', status: 404 },
  {
    row: 'A8 $everything',
    send: 'GET /Patient/{own}/$everything',
    status: 200,
    shows: ['{ownMark}'],
    hides: ['{beyondMark}', '"total":'],
    on: 'hapi'
  },
  {
    row: 'A8 $everything',
    send: 'GET /Patient/{own}/$everything?_count=1',
    status: 200,
    hides: ['"total":'],
    on: 'hapi'
  },
  {
    row: 'A8 $everything',
    send: 'GET /Patient/{own}/$everything?_type=Observation,Practitioner',
    status: 200,
    on: 'hapi'
  },
  {
    row: 'A8 $everything',
    send: 'GET /Patient/{own}/$everything?_since=2000-01-01T00:00:00Z',
    status: 200,
    on: 'hapi'
  },
  {
    row: 'A8 $everything',
    send: 'GET /Patient/{own}/$everything?start=2000-01-01&end=2050-01-01&_since=2000-01-01T00:00:00Z',
    status: 400,
    on: 'hapi'
  },
  ...[
    '_tag=urn:x|y',
    '_id={theirs}',
    '_mdm=true',
    '_text=x',
    '_content=x',
    '_filter=x',
    '_getpages={theirPages}',
    '_offset=0',
    '_type=*&x=1',
    '_type=Patient|Observation',
    '_type=%00',
    '_type=',
    '_count=0',
    '_count=-1',
    'email=x',
    '_type=Observation&_type=Patient',
    '_cursor=x&_type=Observation'
  ].map(query => ({ row: 'A8 $everything', send: `GET /Patient/{own}/$everything?${query}`, status: 400 })),
  { row: 'A8 $everything by POST', send: 'POST /Patient/{stranger}/$everything', status: 404 },
  {
    row: 'A8 $everything by POST',
    send: 'POST /Patient/{own}/$everything',
    body: { resourceType: 'Parameters' },
    status: 200,
    shows: ['{ownMark}'],
    hides: ['{beyondMark}', '"total":'],
    on: 'hapi'
  },
  ...[
    { name: 'patient', valueId: '{theirs}' },
    { name: '_tag', valueString: 'urn:x|y' },
    { name: '_id', valueId: '{theirs}' },
    { name: '_cursor', valueString: 'x' },
    { name: '_type', valueCode: '*' },
    { name: '_type', valueReference: { reference: 'Patient/{theirs}' } },
    { name: '_count', valueInteger: 0 },
    { name: '_count', valueInteger: 1, part: [{ name: '_id', valueId: '{theirs}' }] }
  ].flatMap(parameter => [
    {
      row: 'A8 $everything by POST',
      send: 'POST /Patient/{own}/$everything',
      body: { resourceType: 'Parameters', parameter: [parameter] },
      status: 400
    }
  ]),
  {
    row: 'A8 $everything by POST',
    send: 'POST /Patient/{own}/$everything',
    body: { resourceType: 'Parameters' },
    as: 'writer',
    status: 403
  },
  { row: 'A8 $everything', send: 'GET /Encounter/{stranger}/$everything', status: [404, 405] },
  { row: 'A8 $everything', send: 'HEAD /Patient/{stranger}/$everything', status: 404 },
  { row: 'A8 $everything', send: 'GET /Patient/{own}/$everything', as: 'writer', status: 403 }
])
