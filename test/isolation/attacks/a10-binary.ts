import { defineSection } from './attack.js'

/** A10: content without a form of its own. */
export const binaries = defineSection([
  { row: 'A10 read', send: 'GET /Binary/{stranger}', headers: ['accept: text/plain'], status: [404, 406] },
  { row: 'A10 read', send: 'GET /Binary/{stranger}', headers: ['accept: */*'], status: 404 },
  {
    row: 'A10 read',
    send: 'GET /Binary/{stranger}',
    headers: ['accept: application/octet-stream'],
    status: [404, 406]
  },
  { row: 'A10 read', send: 'GET /Binary/{stranger}', headers: ['accept: application/fhir+ndjson'], status: [404, 406] },
  { row: 'A10 read', send: 'GET /Binary/{stranger}/_history/1', status: 404 },
  { row: 'A10 read', send: 'GET /Binary/{own}', status: 200 },
  {
    row: 'A10 read',
    send: 'GET /Binary/{own}',
    headers: ['accept: application/fhir+json'],
    status: 200,
    shows: ['{ownData}']
  },
  {
    row: 'A10 write',
    send: 'POST /Binary',
    body: { resourceType: 'Binary', contentType: 'text/plain', data: 'eA==' },
    status: 201,
    shows: ['"code":"{ownTenant}"']
  },
  {
    row: 'A10 write',
    send: 'POST /Binary',
    body: {
      resourceType: 'Binary',
      contentType: 'text/plain',
      data: 'eA==',
      securityContext: { reference: 'Patient/{stranger}' }
    },
    status: 422
  },
  {
    row: 'A10 write',
    send: 'PUT /Binary/{stranger}',
    body: { resourceType: 'Binary', contentType: 'text/plain', data: 'eA==' },
    status: 404
  },
  {
    row: 'A10 write',
    send: 'PUT /Binary/{stranger}',
    headers: ['content-type: text/plain'],
    body: 'text',
    status: [404, 415]
  },
  {
    row: 'A10 write',
    send: 'PUT /Binary/{stranger}',
    headers: ['content-type: text/plain', 'x-security-context: Patient/{own}'],
    body: 'text',
    status: [404, 415]
  },
  {
    row: 'A10 write',
    send: 'POST /Binary',
    headers: ['content-type: text/plain', 'x-security-context: Patient/{stranger}'],
    body: 'text',
    status: [201, 404, 415, 422]
  },
  {
    row: 'A10 externalized content',
    send: 'POST /Binary',
    body: {
      resourceType: 'Binary',
      contentType: 'text/plain',
      _data: {
        extension: [
          { url: 'http://hapifhir.io/fhir/StructureDefinition/externalized-binary-id', valueString: '{theirs}' }
        ]
      }
    },
    status: 422
  },
  {
    row: 'A10 externalized content',
    send: 'POST /DocumentReference',
    body: {
      resourceType: 'DocumentReference',
      status: 'current',
      content: [
        {
          attachment: {
            _data: {
              extension: [
                { url: 'http://hapifhir.io/fhir/StructureDefinition/externalized-binary-id', valueString: '{theirs}' }
              ]
            }
          }
        }
      ]
    },
    status: 422
  },
  { row: 'A10 operation', send: 'GET /Binary/{stranger}/$binary-access-read?path=Binary', status: [404, 405] },
  {
    row: 'A10 operation',
    send: 'GET /DocumentReference/{stranger}/$binary-access-read?path=DocumentReference.content.attachment',
    status: [404, 405]
  },
  { row: 'A10 delete', send: 'DELETE /Binary/{stranger}', status: 404 }
])
