import { test } from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testAuditEvents } from './audit-events-contract.js'

test('each access is an AuditEvent of its own organization, in HAPI', async t => {
  await testAuditEvents(t, requireRealBackend().url)
})
