import { Ajv } from 'ajv'
import { test } from 'tap'
import { eventBatchSchema, eventsPerBatch } from '../../src/events/event.js'

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

test('an event has no room for anything but ids', async t => {
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
