import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'tap'
import { jobMaker } from '../jobs/job-fixtures.js'
import { startGateway } from '../harness/gateway.js'

test('whoever ends an export has the datastore end its own, though the gateway that worked on it is gone', async t => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(`${request.method!} ${request.url!}`)
    response.writeHead(202, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"OperationOutcome"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  const gateway = await startGateway(t, { fhirUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir` })
  const { secret, tenantId } = await gateway.createKey()
  const make = jobMaker(gateway.control, gateway.dataDirectory)
  const owner = { tenantId, mode: 'test' } as const
  const remove = (url: string) => gateway.inject({ method: 'DELETE', url, headers: { 'x-api-key': secret } })
  const told = (place: string) => requested.filter(request => request === `DELETE /fhir/${place}`).length
  const jobWith = async (place: string, more = {}) =>
    await make({
      owner,
      checkpoint: {
        position: {
          asOf: '2030-01-01T00:00:00Z',
          types: ['Patient'],
          walked: 0,
          own: { job: place, file: 0, lines: 0, begun: 1 }
        },
        written: []
      },
      ...more
    })

  const raw = await jobWith('$export-poll-status?_jobId=1')
  t.equal((await remove(`/v1/fhir/_export/${raw.id}`)).statusCode, 202)
  const simple = await jobWith('$export-poll-status?_jobId=2')
  t.equal((await remove(`/v1/bulk/jobs/${simple.id}`)).statusCode, 200)
  const ended = await jobWith('$export-poll-status?_jobId=3', { end: { status: 'completed' } })
  t.equal((await remove(`/v1/fhir/_export/${ended.id}`)).statusCode, 202)
  const foreign = await make({
    owner: { tenantId: await gateway.createOrganization(), mode: 'test' },
    checkpoint: {
      position: {
        asOf: '',
        types: [],
        walked: 0,
        own: { job: '$export-poll-status?_jobId=4', file: 0, lines: 0, begun: 1 }
      },
      written: []
    }
  })
  t.equal((await remove(`/v1/fhir/_export/${foreign.id}`)).statusCode, 404)
  while (told('$export-poll-status?_jobId=1') === 0 || told('$export-poll-status?_jobId=2') === 0) await pause(10)
  t.equal(told('$export-poll-status?_jobId=3'), 0, 'one that ended needs no end')
  t.equal(told('$export-poll-status?_jobId=4'), 0, 'nobody ends another organization\'s')
})
