import t from 'tap'
import { collectReferences } from '../../src/tenant-guard/writes/references.js'

const urn = (at: number) => `urn:uuid:${at}`
const holder = (at: number) => ({
  resourceType: 'Observation',
  subject: { reference: urn(at) },
  focus: [{ reference: '#c' }],
  contained: [{ resourceType: 'Basic', id: 'c', subject: { reference: '#' } }]
})
const count = 60_000

// The names of all entries were copied for each entry that contains something: 1 MiB stopped the gateway for seconds,
// 16 MiB for many minutes.
t.test('the references of a Bundle whose many entries each contain a resource are checked in a moment', async t => {
  const entry = Array.from({ length: count }, (_, at) => ({ fullUrl: urn(at), resource: holder((at + 1) % count) }))
  t.strictSame(collectReferences({ resourceType: 'Bundle', entry }, []), [])
  t.strictSame(
    collectReferences({ resourceType: 'Bundle', entry: [...entry, { resource: holder(count) }] }, []).map(
      ({ path }) => path
    ),
    [`Bundle.entry[${count}].resource.subject`]
  )
})
