import t from 'tap'
import type { Access } from '../../src/tenant-guard/access.js'
import type { FhirInteraction } from '../../src/tenant-guard/fhir-interaction.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { failureOf, gatewayTo, newTenant } from '../tenant-guard/guarded.js'

const sandbox = await startTestSandbox(t)

const type = 'Patient'
const patient = (value: string) => ({ resourceType: type, identifier: [{ system: 'urn:mrn', value }] })
const criteria = (value: string) => ({ type, parameters: [['identifier', `urn:mrn|${value}`]] }) as const
const remove = (value: string) => ({ kind: 'conditional-delete', type, criteria: criteria(value) }) as const

// Who kept account of a deletion by criteria learnt of no record, so that nobody could say which one was gone.
t.test('an access by criteria names the record that they led to, whether it was done or not', async t => {
  const accesses: Access[] = []
  const store = gatewayTo(sandbox.url).guard(newTenant(), { onAccess: access => { accesses.push(access) } })
  const [one, two, three, four] = await Promise.all(
    ['1', '2', '3', '4'].map(async value => (await store.create({ kind: 'create', type, resource: patient(value) })).id)
  )
  const told = async (interaction: FhirInteraction, code?: string) => {
    accesses.splice(0)
    if (code === undefined) await store.perform(interaction)
    else t.equal((await failureOf(store.perform(interaction))).code, code)
    return accesses.map(({ kind, id, failure }) => [kind, id, failure].filter(part => part !== undefined).join(' '))
  }
  const patch = (value: unknown) =>
    ({
      kind: 'conditional-patch',
      type,
      criteria: criteria('4'),
      patch: [{ op: 'test', path: '/resourceType', value }]
    }) as const
  t.strictSame(await told(remove('1')), [`conditional-delete ${one}`], 'alone')
  t.strictSame(await told(remove('1')), ['conditional-delete'], 'none is there any more')
  t.strictSame(
    await told({ kind: 'batch', type: 'Bundle', entries: [{ interaction: remove('2') }], showsWritten: false }),
    [`conditional-delete ${two}`],
    'in a batch'
  )
  t.strictSame(
    await told({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: remove('3') }, { interaction: remove('none') }],
      references: new Map(),
      showsWritten: false
    }),
    [`conditional-delete ${three}`, 'conditional-delete', 'transaction'],
    'in a transaction'
  )
  t.strictSame(await told({ ...remove('4'), version: '7' }, 'PRECONDITION_FAILED'), [
    `conditional-delete ${four} PRECONDITION_FAILED`
  ])
  t.strictSame(await told(patch('Patient')), [`conditional-patch ${four}`])
  t.strictSame(await told(patch('Group'), 'VALIDATION_ERROR'), [`conditional-patch ${four} VALIDATION_ERROR`])
  const update = { kind: 'conditional-update', type, criteria: criteria('4'), resource: patient('4') } as const
  t.strictSame(await told(update), [`conditional-update ${four}`])
  t.strictSame(await told({ ...update, version: '7' }, 'PRECONDITION_FAILED'), [
    `conditional-update ${four} PRECONDITION_FAILED`
  ])
})
