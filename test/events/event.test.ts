import { Ajv } from 'ajv'
import { test } from 'tap'
import { changes, eventBatchSchema, eventsPerBatch, typeFilterPattern } from '../../src/events/event.js'
import { toEventType, findUnknownType } from '../../src/events/to-events.js'
import { isTenantType, resourceTypes } from '../../src/fhir/resource-types.js'

const isBatch = new Ajv().compile(eventBatchSchema)
const event = {
  id: `evt_${'0'.repeat(26)}`,
  tenantId: 'org-a',
  mode: 'live',
  type: 'patients.created',
  createdAt: '2030-01-01T10:00:00.000Z',
  resourceType: 'Patient',
  resourceId: 'p1',
  versionId: '1',
  requestId: 'request-1'
}
const batchOf = (...lines: object[]) => ({ ledgerId: 'log', number: 1, batchId: 'batch', lines })

test('a batch of events is accepted up to its maximum', async t => {
  t.ok(isBatch(batchOf(event)))
  t.ok(isBatch(batchOf({ ...event, type: 'fhir.Basic.deleted', resourceType: 'Basic', versionId: undefined })))
  t.ok(isBatch(batchOf(...Array<object>(eventsPerBatch).fill(event))))
  t.notOk(isBatch(batchOf(...Array<object>(eventsPerBatch + 1).fill(event))))
  t.notOk(isBatch(batchOf()))
})

test('an event has no members for anything but ids', async t => {
  const refused = [
    { name: 'Ann' },
    { type: 'patients.seen' },
    { resourceId: 'Ann Smith' },
    { requestId: 'a\nb' },
    { id: 'evt_1' },
    { createdAt: '2030-01-01' }
  ]
  for (const what of refused) t.notOk(isBatch(batchOf({ ...event, ...what })), JSON.stringify(what))
})

test('a filter is an event type, all of a resource, or all', async t => {
  for (const type of [...resourceTypes].filter(isTenantType)) {
    const filters = [...changes, '*' as 'created'].map(kind => toEventType(type, kind))
    t.equal(findUnknownType(['*', ...filters]), undefined, type)
    for (const filter of filters) t.match(filter, new RegExp(typeFilterPattern))
  }
  const getSuggestion = (filter: string) => findUnknownType(['*', filter])?.message ?? ''
  for (const [filter, known] of [
    ['patient.created', 'patients.created'],
    ['patients.create', 'patients.created'],
    ['patients.*.', 'patients.*'],
    ['fhir.Patient.updated', 'patients.updated'],
    ['fhir.Basics.deleted', 'fhir.Basic.deleted'],
    ['Fhir.basic.*', 'fhir.Basic.*']
  ] as const) t.equal(getSuggestion(filter), `no such type of events; did you mean ${known}?`, filter)
  t.equal(findUnknownType(['*', 'patient.created'])?.at, 1)
  for (const filter of ['fhir.Subscription.created', 'secret-token-of-another', '']) {
    const message = getSuggestion(filter)
    t.match(message, 'no such type of events')
    t.notOk(filter !== '' && message.includes(filter), 'the text is not repeated')
  }
})
