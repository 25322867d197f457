import t from 'tap'
import { join } from 'node:path'
import { requireRealBackend } from '../harness/backend.js'
import { createFhirClient, tenantSystem } from '../harness/fhir-server.js'
import { runCommand } from './command.js'

t.setTimeout(240_000)
t.test(
  'HAPI with its defaults does what the gateway relies on; settings to switch off are reported, and stored records deleted',
  async t => {
    t.setTimeout(240_000)
    const { url } = requireRealBackend()
    const { code, out } = await runCommand({ CLINIGATE_DATA: join(t.testdir(), 'data') }, 'doctor', '--url', url, '--json')
    const { findings, records, software, fhirVersion, blocks } = JSON.parse(out)
    const faults = Object.fromEntries(
      findings.filter(({ state }: any) => state !== 'works').map(({ name, state }: any) => [name, state])
    )
    t.strictSame(faults, {
      'server-ids': 'unsafe',
      'if-match-on-delete': 'degraded',
      'everything-dates': 'degraded',
      'no-search-in-references': 'unsafe',
      'no-expunge': 'unsafe',
      'no-mass-delete': 'unclear'
    })
    t.strictSame([code, blocks, fhirVersion, records.left], [0, false, '4.0.1', []])
    t.match(software, /^HAPI FHIR Server/)
    t.ok(records.stored > 20)
    const { body } = await createFhirClient(url).send(
      'GET',
      `Patient?_tag=${encodeURIComponent(`${tenantSystem}:doctor|trial`)}&_summary=count`
    )
    t.equal(body.total, 0)
  }
)
