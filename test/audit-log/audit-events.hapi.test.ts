import { test } from 'tap'
import { realBackend } from '../harness/backend.js'
import { provesAuditEvents } from './audit-events-contract.js'

test('each access is an AuditEvent of its own organization, in HAPI', async t => {
  await provesAuditEvents(t, realBackend().url)
})
