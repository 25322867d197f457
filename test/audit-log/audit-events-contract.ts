import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createGatewayClient, type Client } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'

const ada = { firstName: 'Ada', lastName: 'Byron', birthDate: '1990-03-14' }
const record = 'urn:clinigate:tenant:record'

type Event = Readonly<Record<string, any>>

const sendFhir = (client: Client, method: string, path: string, body?: unknown) =>
  client.send(method, `fhir${path}`, body, { 'content-type': 'application/fhir+json', 'cache-control': 'no-cache' })

/** The guarantees for AuditEvents of accesses, on every datastore and every gateway in front of it. */
export async function testAuditEvents (t: Test, fhirUrl: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-events-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const gateway = await startGateway(t, {
    fhirUrl,
    config: { auditLog: { file: join(folder, 'access.log'), auditEvents: true, logsSearchResultIds: true } }
  })
  const client = await createGatewayClient(gateway)
  const direct = createFhirClient(fhirUrl)
  const waitForStored = async (expected: number): Promise<Event[]> => {
    for (;;) {
      const events = await direct.fetchTagged(client.tenantId, 'AuditEvent')
      if (events.length >= expected) {
        return events.sort((one, other) => (String(one.recorded) < String(other.recorded) ? -1 : 1))
      }
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }

  const { data: { id } } = await client.send('POST', 'patients', ada)
  await client.send('GET', `patients/${id}`)
  await client.send('GET', 'patients?lastName=byron')
  await client.send('GET', 'patients/nobody')
  const events = await waitForStored(4)
  await t.test('they record who accessed which record, how, and with which outcome', async t => {
    const formatEvent = ({ action, subtype, outcome, outcomeDesc, entity }: Event) =>
      [
        action,
        subtype[0].code,
        outcome,
        outcomeDesc,
        ...entity.map(({ what, type, detail }: Event) =>
          what?.identifier.system === record
            ? what.identifier.value
            : detail === undefined
              ? type.code
              : `${type.code} ${detail[0].valueString}`
        )
      ]
        .filter(part => part !== undefined)
        .join(' ')
    t.same(
      events.map(formatEvent).sort(),
      [
        `C create 0 Patient/${id} 4`,
        `R read 0 Patient/${id} 4`,
        'R read 4 NOT_FOUND Patient/nobody 4',
        `E search-type 0 Patient 1 Patient/${id} 4`
      ].sort()
    )
    t.match(events[0], {
      type: { system: 'http://terminology.hl7.org/CodeSystem/audit-event-type', code: 'rest' },
      recorded: /^\d{4}-/,
      agent: [{ requestor: true, name: 'a test key', who: { identifier: { system: 'urn:clinigate:tenant:key' } } }],
      source: { observer: { display: 'clinigate' } }
    })
    t.same(events[0]!.meta.tag, [{ system: 'urn:clinigate:tenant', code: client.tenantId }])
    t.notMatch(
      JSON.stringify(events.map(({ meta, ...event }) => event)),
      /byron|1990-03|\bada\b|svc_/i,
      'nothing of a record, a query or a secret'
    )
  })

  await t.test(
    'the organization alone reads its AuditEvents, and a record with AuditEvents can be deleted',
    async t => {
      const own = await sendFhir(
        client,
        'GET',
        '/AuditEvent?type=http://terminology.hl7.org/CodeSystem/audit-event-type|rest&action=C'
      )
      t.same(
        [own.status, own.body.entry?.map(({ resource }: Event) => resource.entity[0].what.identifier.value)],
        [200, [`Patient/${id}`]]
      )
      for (const [search, expected] of [
        [`entity-name:exact=Patient/${id}`, 3],
        ['altid=key-of-nobody', 0],
        [`altid=${events[0]!.agent[0].altId}&outcome=4&date=ge2000-01-01`, 1]
      ] as const) {
        const found = await sendFhir(client, 'GET', `/AuditEvent?${search}`)
        t.same([found.status, found.body.total], [200, expected], search)
      }
      t.equal((await client.send('GET', 'audit-events')).status, 200)
      const other = await createGatewayClient(gateway)
      t.equal((await sendFhir(other, 'GET', '/AuditEvent')).body.total, 0)
      t.equal((await sendFhir(other, 'GET', `/AuditEvent/${events[0]!.id}`)).status, 404)
      t.equal((await client.send('DELETE', `patients/${id}`)).status, 200)
    }
  )

  await t.test(
    'no client can change, delete or forge AuditEvents by any method',
    async t => {
      const [event] = events as [Event]
      const named = `AuditEvent/${event.id}`
      const found = `AuditEvent?_id=${event.id}`
      const jsonPatch = {
        resourceType: 'Binary',
        contentType: 'application/json-patch+json',
        data: Buffer.from('[{"op":"replace","path":"/outcome","value":"8"}]').toString('base64')
      }
      for (const url of [named, found]) {
        const headers = { 'content-type': 'application/json-patch+json' }
        t.equal((await sendFhir(client, 'PUT', `/${url}`, { ...event, outcome: '8' })).status, 405, `PUT ${url}`)
        t.equal(
          (await client.send('PATCH', `fhir/${url}`, [{ op: 'replace', path: '/outcome', value: '8' }], headers))
            .status,
          405,
          `PATCH ${url}`
        )
        t.equal((await sendFhir(client, 'DELETE', `/${url}`)).status, 405, `DELETE ${url}`)
        for (const [method, resource] of [
          ['PUT', { ...event, outcome: '8' }],
          ['PATCH', jsonPatch],
          ['DELETE', undefined]
        ] as const) {
          const entry = [{ request: { method, url }, ...(resource && { resource }) }]
          t.equal(
            (await sendFhir(client, 'POST', '', { resourceType: 'Bundle', type: 'transaction', entry })).status,
            405,
            `${method} ${url} in a transaction`
          )
          const batch = await sendFhir(client, 'POST', '', { resourceType: 'Bundle', type: 'batch', entry })
          t.match(batch.body.entry[0].response.status, /^405/, `${method} ${url} in a batch`)
        }
      }
      const { meta, ...content } = await direct.read('AuditEvent', event.id)
      const { meta: before, ...was } = event
      t.same(JSON.parse(JSON.stringify(content)), JSON.parse(JSON.stringify(was)))
      const forged = await sendFhir(client, 'POST', '/AuditEvent', { ...event, id: `clinigate-access-${'0'.repeat(40)}` })
      t.equal(forged.status, 201)
      t.notMatch(forged.body.id, /^clinigate-access-/)
      t.equal(
        (await sendFhir(client, 'DELETE', `/AuditEvent/${forged.body.id}`)).status,
        204,
        'one of its own it may delete'
      )
    }
  )
}
