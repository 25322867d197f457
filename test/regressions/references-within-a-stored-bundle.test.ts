import t from 'tap'
import { collectReferences } from '../../src/tenant-guard/writes/references.js'

const urn = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const of = (reference: string, more: object = {}) => ({ resourceType: 'Observation', subject: { reference }, ...more })
const paths = (...entry: object[]) => collectReferences({ resourceType: 'Bundle', entry }, []).map(({ path }) => path)
const subject = (at: number) => `Bundle.entry[${at}].resource.subject`

// What a document says of its own entries was looked for among the records of the server, so no document could be
// stored.
t.test('a reference is internal only where it leads to something of the same resource or Bundle', async t => {
  const holder = of('#p', { contained: [{ resourceType: 'Patient', id: 'p', link: [{ other: { reference: '#' } }] }] })
  t.strictSame(
    paths({ fullUrl: urn, resource: { resourceType: 'Patient' } }, { resource: of(urn) }, { resource: holder }),
    []
  )
  t.strictSame(paths({ resource: holder }, { resource: of('#p') }), [subject(1)], 'what another entry contains')
  t.strictSame(
    paths({ resource: of(urn) }, { fullUrl: 'urn:oid:1.2.3', resource: of('urn:oid:1.2.4') }),
    [subject(0), subject(1)],
    'a name that no entry has'
  )
  t.strictSame(
    paths(
      { fullUrl: 'Patient/1', resource: of('Patient/1') },
      { fullUrl: 'http://x/Patient/1', resource: of('http://x/Patient/1') }
    ),
    ['Bundle.entry[0].fullUrl', subject(0)],
    'a URL that is no absolute one names no entry'
  )
  t.strictSame(
    paths({ fullUrl: 'http://x/Patient/1', resource: of('http://x/Patient/2') }),
    [subject(0)],
    'any other URL'
  )
  t.strictSame(
    paths({ resource: { resourceType: 'Bundle', entry: [{ fullUrl: urn }] } }, { resource: of(urn) }),
    [subject(1)],
    'what a Bundle within it holds'
  )
  t.strictSame(
    collectReferences({ resourceType: 'Observation', entry: [{ fullUrl: urn }], subject: { reference: urn } }, [])
      .length,
    1,
    'what is no Bundle has no entries'
  )
})
