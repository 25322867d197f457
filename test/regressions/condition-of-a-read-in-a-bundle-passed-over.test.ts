import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// A read in a Bundle came whole although its sender had that version, and nonsense in the condition passed.
t.test(
  'a read in a Bundle is answered with 304 where the same read alone is, and a condition that cannot be read is refused',
  async t => {
    const client = await clientOf(await startGateway(t))
    const {
      body: { id, meta }
    } = await client.send('POST', 'fhir/Patient', { resourceType: 'Patient', name: [{ family: 'Byron' }] })
    const inBundle = async (type: string, conditions: object) =>
      (
        await client.send('POST', 'fhir', {
          resourceType: 'Bundle',
          type,
          entry: [{ request: { method: 'GET', url: `Patient/${id}`, ...conditions } }]
        })
      ).body

    const later = new Date(Date.parse(meta.lastUpdated) + 5_000).toISOString()
    const before = new Date(Date.parse(meta.lastUpdated) - 5_000).toISOString()
    for (const type of ['batch', 'transaction']) {
      for (const conditions of [
        { ifNoneMatch: `W/"${meta.versionId}"` },
        { ifNoneMatch: meta.versionId },
        { ifModifiedSince: later }
      ]) {
        const {
          entry: [{ resource, response }]
        } = await inBundle(type, conditions)
        t.equal(resource, undefined, 'the record is not sent again')
        t.match(response, { status: '304 Not Modified', etag: `W/"${meta.versionId}"` })
      }
      for (const conditions of [
        {},
        { ifNoneMatch: 'W/"other"' },
        { ifModifiedSince: before },
        { ifNoneMatch: 'W/"other"', ifModifiedSince: later }
      ]) {
        t.match(await inBundle(type, conditions), { entry: [{ resource: { id }, response: { status: '200 OK' } }] })
      }
    }
    for (const conditions of [{ ifNoneMatch: 'B^n' }, { ifNoneMatch: 7 }, { ifModifiedSince: 'yesterday' }]) {
      t.match(await inBundle('batch', conditions), { entry: [{ response: { status: '400 Bad Request' } }] })
      t.match(await inBundle('transaction', conditions), { resourceType: 'OperationOutcome' })
    }
  }
)
