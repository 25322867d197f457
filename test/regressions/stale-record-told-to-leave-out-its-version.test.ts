import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// A whole record that had been read before another client's change was refused for its versionId, which is read-only:
// without it, it undid that change.
t.test('a record that has changed since it was read is a conflict, not a field too many', async t => {
  const client = await clientOf(await startGateway(t))
  const shown = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', phone: 'old' })).data
  const path = `patients/${shown.id}`
  const changed = (await client.send('PATCH', path, { phone: 'new' })).data
  const stale = await client.send('PATCH', path, { ...shown, gender: 'female' })
  t.match(
    [stale.status, stale.body],
    [
      409,
      {
        code: 'CONFLICT',
        message: 'The record has changed since it was read. Read it again, or send only the fields to change.'
      }
    ]
  )
  t.strictSame((await client.send('GET', path)).data, changed, 'and nothing was written')
  t.equal((await client.send('PATCH', path, { versionId: shown.versionId })).status, 409)
  t.match((await client.send('PATCH', path, { ...changed, gender: 'female' })).data, { gender: 'female', phone: 'new' })
  for (const versionId of [null, 1, {}]) {
    t.match(await client.send('PATCH', path, { versionId }), {
      status: 422,
      body: { issues: [{ expression: ['versionId'], code: 'business-rule' }] }
    })
  }
})

t.test('of several whole records that are sent at the same moment one is written', async t => {
  const client = await clientOf(await startGateway(t))
  const shown = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
  const answers = await Promise.all(
    [1, 2, 3, 4].map(n => client.send('PATCH', `patients/${shown.id}`, { ...shown, phone: `+41 ${n}` }))
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
})
