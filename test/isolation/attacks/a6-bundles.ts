import { defineSection, type Attack } from './attack.js'

const patient = (more: object = {}) => ({ resourceType: 'Patient', name: [{ family: '{ownMark}' }], ...more })
const observation = (reference: string) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: '{ownMark}' },
  subject: { reference }
})
const bundle = (type: unknown, ...entry: unknown[]) => ({ resourceType: 'Bundle', type, entry })
const entry = (method: string, url: string, more: object = {}, request: object = {}) => ({
  ...more,
  request: { method, url, ...request }
})
const patch = (operations: unknown) => ({
  resourceType: 'Binary',
  contentType: 'application/json-patch+json',
  data: Buffer.from(JSON.stringify(operations)).toString('base64')
})
const urn = 'urn:uuid:7d1b4c5e-0000-4000-8000-000000000001'

/** One entry that no batch and no transaction may perform, and what a batch says in its place. */
const single: ReadonlyArray<readonly [name: string, entry: unknown, said: readonly number[]]> = [
  ['read', entry('GET', 'Patient/{stranger}'), [404]],
  ['read', entry('GET', '/Patient/{stranger}'), [404]],
  ['vread', entry('GET', 'Patient/{stranger}/_history/1'), [404]],
  ['read with elements', entry('GET', 'Flag/{stranger}?_elements=id'), [404]],
  ['update', entry('PUT', 'Patient/{stranger}', { resource: patient({ id: '{stranger}' }) }), [404]],
  ['update', entry('PUT', 'Patient/{stranger}', { resource: patient() }, { ifMatch: 'W/"1"' }), [404]],
  ['delete', entry('DELETE', 'Patient/{stranger}'), [404]],
  ['delete', entry('DELETE', 'Flag/{stranger}', {}, { ifMatch: 'W/"1"' }), [404]],
  [
    'patch',
    entry('PATCH', 'Patient/{stranger}', { resource: patch([{ op: 'add', path: '/active', value: false }]) }),
    [404]
  ],
  ['conditional patch', entry('PATCH', 'Patient?_id={stranger}', { resource: patch([]) }), [404]],
  ['conditional update', entry('PUT', 'Patient?_id={stranger}', { resource: patient({ id: '{stranger}' }) }), [404]],
  ['reference', entry('POST', 'Observation', { resource: observation('Patient/{stranger}') }), [422]],
  ['reference by criteria', entry('POST', 'Observation', { resource: observation('Patient?_id={stranger}') }), [422]],
  [
    'reference by criteria',
    entry('POST', 'Observation', { resource: observation('Patient?identifier=urn:mrn|{stranger}') }),
    [422]
  ],
  [
    'reference to the datastore',
    entry('POST', 'Observation', { resource: observation('{backend}/Patient/{stranger}') }),
    [422]
  ],
  ['reference to no entry', entry('POST', 'Observation', { resource: observation(urn) }), [422]],
  [
    'version of a reference',
    entry('POST', 'Observation', { resource: observation('Patient/{stranger}/_history/1') }),
    [422]
  ],
  ['body and URL differ', entry('PUT', 'Patient/{own}', { resource: patient({ id: '{stranger}' }) }), [400]],
  ['type and URL differ', entry('POST', 'Observation', { resource: patient() }), [400]],
  ['POST to a record', entry('POST', 'Patient/{stranger}', { resource: patient() }), [405]],
  ['POST to a search', entry('POST', 'Patient/_search', { resource: { resourceType: 'Parameters' } }), [400, 405]],
  [
    'POST to an operation',
    entry('POST', 'Patient/{stranger}/$meta-add', { resource: { resourceType: 'Parameters' } }),
    [404, 405]
  ],
  ['operation', entry('GET', 'Patient/{stranger}/$everything'), [404, 405]],
  ['operation', entry('GET', 'Patient/$everything'), [404, 405]],
  ['operation', entry('POST', '$meta', { resource: { resourceType: 'Parameters' } }), [404, 405]],
  ['history', entry('GET', 'Patient/{stranger}/_history'), [404, 405]],
  ['history', entry('GET', 'Patient/_history'), [404, 405]],
  ['history', entry('GET', '_history'), [404, 405]],
  ['metadata', entry('GET', 'metadata'), [404, 405]],
  ['root', entry('GET', ''), [400, 404, 405]],
  ['root', entry('POST', '', { resource: bundle('batch', entry('GET', 'Patient/{stranger}')) }), [400, 404, 405]],
  [
    'nested',
    entry('POST', 'Bundle', { resource: bundle('batch', entry('GET', 'Patient/{stranger}')) }),
    [201, 400, 422]
  ],
  ['absolute', entry('GET', 'http://evil.example/Patient/{stranger}'), [400]],
  ['absolute', entry('GET', '{backend}/Patient/{stranger}'), [400]],
  ['absolute', entry('GET', '//evil.example/Patient/{stranger}'), [400]],
  ['absolute, here', entry('GET', 'https://gateway.test/v1/fhir/Patient/{stranger}'), [404]],
  ['absolute, here', entry('DELETE', 'https://gateway.test/v1/fhir/../fhir/Patient/{stranger}'), [400, 404]],
  ['path', entry('GET', '../fhir/Patient/{stranger}'), [400, 404]],
  ['path', entry('GET', 'Observation/../Patient/{stranger}'), [400, 404]],
  ['path', entry('DELETE', 'Patient//{stranger}'), [400, 404]],
  ['path', entry('DELETE', 'Patient/{stranger}/'), [400, 404]],
  ['path', entry('GET', 'Patient/%252e%252e/{stranger}'), [400, 404]],
  ['path', entry('GET', 'Patient/{stranger};x=1'), [400, 404]],
  ['path', entry('GET', 'Patient/{stranger}#x'), [400, 404]],
  ['path', entry('GET', 'Patient/{stranger}%00'), [400, 404]],
  ['method', entry('HEAD', 'Patient/{stranger}'), [400]],
  ['method', entry('get', 'Patient/{stranger}'), [400]],
  ['method', entry('OPTIONS', 'Patient/{stranger}'), [400]],
  ['method', entry('GET ', 'Patient/{stranger}'), [400]],
  ['shared type', entry('POST', 'SearchParameter', { resource: { resourceType: 'SearchParameter' } }), [404, 405]],
  ['shared type', entry('GET', 'Subscription?status=active'), [404, 405]],
  ['shared type', entry('DELETE', 'StructureDefinition/{stranger}'), [404, 405]],
  ['search for another tag', entry('GET', 'Patient?_tag=urn:clinigate:tenant|{theirTenant}'), [400]],
  ['search without the tag', entry('GET', 'Patient?_tag:not=urn:clinigate:tenant|{ownTenant}'), [400]],
  ['search page', entry('GET', '?_getpages={theirPages}'), [400, 404, 405]],
  ['search', entry('GET', 'Patient?_include=*'), [400]],
  ['criteria', entry('DELETE', 'Patient?_tag=urn:clinigate:tenant|{theirTenant}'), [400]],
  ['no criteria', entry('DELETE', 'Patient'), [400]],
  [
    'criteria of a create',
    entry('POST', 'Patient', { resource: patient() }, { ifNoneExist: '_tag=urn:clinigate:tenant|{theirTenant}' }),
    [400]
  ],
  ['cursor of another', entry('GET', 'Patient?_cursor={theirCursor}'), [400]],
  [
    'extension',
    entry(
      'GET',
      'Patient/{stranger}',
      {},
      {
        extension: [{ url: 'https://hapifhir.io/fhir/ns/StructureDefinition/request-partition-ids', valueString: '1' }]
      }
    ),
    [400]
  ],
  ['extension', { ...entry('GET', 'Patient/{stranger}'), extension: [{ url: 'http://x' }] }, [400]],
  ['list of texts', entry('GET', ['Patient/{stranger}'] as never), [400]],
  ['list of texts', entry(['GET'] as never, 'Patient/{stranger}'), [400]],
  ['no request', { resource: patient() }, [400]],
  ['no object', 'x', [400]],
  ['null', null, [400]],
  ['unknown member', { ...entry('GET', 'Patient/{stranger}'), response: {} }, [400]]
]

/** Reads come after the writes of a transaction, so what only the guard refuses of one is said in its place. */
const delayedReads = new Set([
  'read',
  'vread',
  'read with elements',
  'absolute, here',
  'search for another tag',
  'search without the tag',
  'cursor of another'
])

const inBoth = single.flatMap(([name, item, statuses]): readonly Attack[] => [
  {
    row: `A6 batch, ${name}`,
    send: 'POST ',
    body: bundle('batch', item),
    status: 200,
    shows: statuses.length === 1 ? [`"status":"${statuses[0]}`] : [],
    hides: statuses.includes(201) ? [] : ['"status":"2']
  },
  {
    row: `A6 transaction, ${name}`,
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('POST', 'Basic', { resource: { resourceType: 'Basic', code: { text: 'rolled-back' } } }),
      item
    ),
    status: statuses.includes(201) || delayedReads.has(name) ? [200, ...statuses] : [...statuses, 404]
  }
])

/** A6: many requests in one. */
export const bundles = defineSection([
  ...inBoth,
  ...[
    'Patient/{stranger}',
    'Flag/{stranger}',
    'Patient/{stranger}/_history/1',
    'https://gateway.test/v1/fhir/Patient/{stranger}'
  ].map(url => ({
    row: 'A6 transaction, read',
    send: 'POST ',
    body: bundle('transaction', entry('GET', url)),
    status: [200, 404],
    hides: ['"status":"2']
  })),
  ...[
    'Patient?family={secret}',
    'Patient?_id={theirs}',
    'Observation?subject:Patient.family={beyondMark}',
    'Patient?_has:Observation:patient:_id={intruder}',
    'Observation?_include=Observation:subject&_id={crossing}'
  ].flatMap(url =>
    ['batch', 'transaction'].map(type => ({
      row: `A6 ${type}, search`,
      send: 'POST ',
      body: bundle(type, entry('GET', url)),
      status: 200,
      shows: ['searchset']
    }))
  ),
  ...[
    undefined,
    null,
    'Batch',
    'collection',
    'document',
    'message',
    'history',
    'searchset',
    'batch-response',
    ['batch'],
    ['transaction']
  ].map(type => ({
    row: 'A6 type',
    send: 'POST ',
    body: bundle(type, entry('DELETE', 'Patient/{stranger}')),
    status: 400
  })),
  { row: 'A6 type', send: 'POST ', body: patient(), status: 400 },
  {
    row: 'A6 type',
    send: 'POST /',
    body: { resourceType: 'Bundle', entry: [entry('DELETE', 'Patient/{theirs}')] },
    status: [400, 404]
  },
  {
    row: 'A6 entries',
    send: 'POST ',
    body: { resourceType: 'Bundle', type: 'batch', entry: entry('GET', 'Patient/{stranger}') },
    status: 400
  },
  {
    row: 'A6 entries',
    send: 'POST ',
    body: bundle('batch', ...Array.from({ length: 1_001 }, () => entry('GET', 'Patient/{theirs}'))),
    status: 413
  },
  {
    row: 'A6 fullUrl of another',
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: 'Patient/{stranger}', resource: patient() }),
      entry('POST', 'Observation', { resource: observation('Patient/{stranger}') })
    ),
    status: 422
  },
  {
    row: 'A6 fullUrl of another',
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: '{backend}/Patient/{stranger}', resource: patient() }),
      entry('POST', 'Observation', { resource: observation('{backend}/Patient/{stranger}') })
    ),
    status: 422
  },
  {
    row: 'A6 fullUrl of another',
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: 'urn:uuid:{stranger}', resource: patient() }),
      entry('POST', 'Observation', { resource: observation('urn:uuid:{own}') })
    ),
    status: 422
  },
  {
    row: 'A6 fullUrl twice',
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: urn, resource: patient() }),
      entry('POST', 'Patient', { fullUrl: urn, resource: patient() })
    ),
    status: 400
  },
  {
    row: 'A6 one record twice',
    send: 'POST ',
    body: bundle(
      'transaction',
      entry('PUT', 'Patient/{ownEdit}', { resource: patient() }),
      entry('PUT', 'Patient?_id={ownEdit}', { resource: patient() })
    ),
    status: 400
  },
  {
    row: 'A6 tag',
    send: 'POST ',
    headers: ['prefer: return=representation'],
    body: bundle(
      'transaction',
      entry('POST', 'Patient', {
        resource: patient({
          meta: { tag: [{ system: 'urn:clinigate:tenant', code: '{theirTenant}' }, { code: '{theirTenant}' }] }
        })
      }),
      entry('PUT', 'Patient/{ownEdit}', {
        resource: patient({ meta: { tag: [{ system: 'URN:clinigate:tenant', code: '{theirTenant}' }] } })
      })
    ),
    status: 200,
    shows: ['"code":"{ownTenant}"']
  },
  {
    row: 'A6 criteria of a create',
    send: 'POST ',
    headers: ['prefer: return=representation'],
    body: bundle(
      'transaction',
      entry(
        'POST',
        'Patient',
        {
          resource: patient({
            identifier: [
              { system: 'urn:mrn', value: '{theirMark}-6' },
              { system: 'urn:mrn', value: '{theirMark}' }
            ]
          })
        },
        { ifNoneExist: 'identifier=urn:mrn|{theirMark}&identifier=urn:mrn|{theirMark}-6' }
      )
    ),
    status: 200,
    shows: ['"status":"201']
  },
  {
    row: 'A6 criteria of a create',
    send: 'POST ',
    headers: ['prefer: return=representation'],
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: urn, resource: patient() }, { ifNoneExist: '_id={stranger}' }),
      entry('POST', 'Observation', { resource: observation(urn) })
    ),
    status: [200, 409],
    hides: ['"status":"200']
  },
  {
    row: 'A6 conditional delete',
    send: 'POST ',
    body: bundle('transaction', entry('DELETE', 'Patient?_id={stranger}')),
    status: 200,
    shows: ['"status":"204']
  },
  {
    row: 'A6 conditional delete',
    send: 'POST ',
    body: bundle('batch', entry('DELETE', 'Patient?family={secret}')),
    status: 200,
    shows: ['"status":"204']
  },
  {
    row: 'A6 patch of the tag',
    send: 'POST ',
    headers: ['prefer: return=representation'],
    body: bundle(
      'transaction',
      entry('PATCH', 'Patient/{ownEdit}', {
        resource: patch([
          { op: 'replace', path: '/meta/tag/0/code', value: 'x' },
          { op: 'add', path: '/meta/tag/-', value: { system: 'urn:clinigate:tenant', code: 'somebody-else' } }
        ])
      })
    ),
    status: 200,
    hides: ['somebody-else']
  },
  ...['batch', 'transaction'].flatMap(type => [
    {
      row: 'A6 scope',
      send: 'POST ',
      as: 'reader' as const,
      body: bundle(type, entry('POST', 'Patient', { resource: patient() })),
      status: type === 'batch' ? 200 : 403,
      hides: ['"status":"2']
    },
    {
      row: 'A6 scope',
      send: 'POST ',
      as: 'writer' as const,
      body: bundle(type, entry('GET', 'Patient/{own}')),
      status: type === 'batch' ? 200 : 403,
      hides: ['{ownMark}']
    },
    {
      row: 'A6 scope',
      send: 'POST ',
      as: 'writer' as const,
      body: bundle(type, entry('POST', 'Patient', { resource: patient() }, { ifNoneExist: 'active=true' })),
      status: type === 'batch' ? 200 : 403,
      hides: ['"status":"2']
    },
    {
      row: 'A6 key',
      send: 'POST ',
      as: 'nobody' as const,
      body: bundle(type, entry('GET', 'Patient/{own}')),
      status: 401
    },
    {
      row: 'A6 honest',
      send: 'POST ',
      body: bundle(type, entry('GET', 'Patient/{own}'), entry('GET', 'Patient?family={ownMark}&_count=1')),
      status: 200,
      shows: ['{ownMark}', 'searchset']
    },
    {
      row: 'A6 honest',
      send: 'POST ',
      headers: ['prefer: return=representation'],
      body: bundle(type, entry('POST', 'Observation', { resource: observation('Patient/{own}') })),
      status: 200,
      shows: ['{ownMark}', '"status":"201']
    }
  ]),
  {
    row: 'A6 honest',
    send: 'POST ',
    headers: ['prefer: return=representation'],
    body: bundle(
      'transaction',
      entry('POST', 'Patient', { fullUrl: urn, resource: patient() }),
      entry('POST', 'Observation', { resource: observation(urn) }),
      entry('POST', 'Observation', { resource: observation('Patient?_id={own}') })
    ),
    status: 200,
    shows: ['Patient/{own}']
  }
])
