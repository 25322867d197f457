/** A JSON Patch addresses the items of lists by their positions: each preserves its hidden parts. */
import t from 'tap'
import { parseChanges } from '../../src/api/resources/changes.js'
import type { FhirElement } from '../../src/mappings/fhir.js'
import { listLostPaths } from '../../src/mappings/core/losses.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { mappings } from '../../src/mappings/registry.js'
import { computeChangedFields, changeRecord } from '../../src/record-input/changed-record.js'

function applyPatch (path: string, stored: object, ...body: readonly object[]) {
  const mapping: Mapping = mappings.find(mapping => mapping.path === path)!
  const before = { resourceType: mapping.type, ...stored } as FhirElement
  const shown = mapping.toSimple(before)
  const after: any = changeRecord(mapping, before, computeChangedFields(mapping, parseChanges(body, shown), shown))
  return { after, lost: listLostPaths(mapping, before, after) }
}

const permit = (type: string, valueCode: string) => ({
  type,
  modifierExtension: [{ url: 'http://example.org/for-one-code-alone', valueCode }]
})
const consent = { provision: { provision: [permit('permit', 'a'), permit('permit', 'b'), permit('deny', 'c')] } }
const list = '/provision/provision'

t.test('an item that changes while another is removed does not become a permit for all', async t => {
  const { after, lost } = applyPatch(
    'consents',
    consent,
    { op: 'remove', path: `${list}/0` },
    { op: 'replace', path: `${list}/0/type`, value: 'deny' }
  )
  t.strictSame(after.provision.provision, [permit('deny', 'b'), permit('deny', 'c')])
  t.strictSame(lost, ['provision.provision.modifierExtension'], 'what goes with the removed one is named')
})

t.test('of items that look alike, the one that a patch addresses is removed', async t => {
  const { after } = applyPatch('consents', consent, { op: 'remove', path: `${list}/0` })
  t.strictSame(after.provision.provision, consent.provision.provision.slice(1))
})

t.test('items preserve their hidden parts when they are moved, before and behind new ones', async t => {
  const { after } = applyPatch(
    'consents',
    consent,
    { op: 'add', path: `${list}/0`, value: { type: 'permit', period: { start: '2026' } } },
    { op: 'move', from: `${list}/3`, path: `${list}/0` },
    { op: 'replace', path: `${list}/0/type`, value: 'permit' }
  )
  const [first, added, ...others] = after.provision.provision
  t.strictSame(first, permit('permit', 'c'))
  t.notOk(added.modifierExtension, 'a new item has nothing of another')
  t.strictSame(others, consent.provision.provision.slice(0, 2))
})

t.test('a copy of an item has all of it but its ids', async t => {
  const stored = { provision: { provision: [{ id: 'x', ...permit('permit', 'a') }] } }
  const { after } = applyPatch(
    'consents',
    stored,
    { op: 'copy', from: `${list}/0`, path: `${list}/-` },
    { op: 'replace', path: `${list}/1/type`, value: 'deny' }
  )
  t.strictSame(after.provision.provision, [stored.provision.provision[0], permit('deny', 'a')])
})

t.test('an item that is replaced as a whole preserves its hidden parts, unless it is another thing', async t => {
  const { after } = applyPatch(
    'consents',
    consent,
    { op: 'remove', path: `${list}/2` },
    { op: 'replace', path: `${list}/1`, value: { type: 'deny', period: { start: '2026' } } }
  )
  t.strictSame(after.provision.provision, [
    permit('permit', 'a'),
    { ...permit('deny', 'b'), period: { start: '2026' } }
  ])
  const appointment = {
    participant: [{ actor: { reference: 'Patient/1' }, status: 'accepted', period: { start: '2026-01-01' } }]
  }
  const other = applyPatch('appointments', appointment, {
    op: 'replace',
    path: '/participants/0',
    value: { actorId: 'Patient/2' }
  })
  t.strictSame(other.after.participant, [{ actor: { reference: 'Patient/2' }, status: 'accepted' }])
  t.strictSame(other.lost, ['participant.period'], 'and what is gone is named')
})

t.test('a merge with another length warns of the removed parts of an item', async t => {
  const mapping: Mapping = mappings.find(({ path }) => path === 'consents')!
  const before = { resourceType: 'Consent', ...consent } as FhirElement
  const after = mapping.patch(before, { provision: { provision: [{ type: 'deny' }] } })
  t.strictSame(listLostPaths(mapping, before, after), ['provision.provision.modifierExtension'])
})

t.test('lists inside of items, and texts with extensions, are followed too', async t => {
  const stored = { address: [{ line: ['a', 'a', 'b'], _line: [{ id: '1' }, { id: '2' }, { id: '3' }] }] }
  const { after } = applyPatch('patients', stored, { op: 'remove', path: '/address/line/0' })
  t.strictSame(after.address[0], { line: ['a', 'b'], _line: [{ id: '2' }, { id: '3' }] })
})
