import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// With an include the header was not looked at, so that nonsense in it passed.
t.test('an If-None-Match that holds no entity tag is refused, also where records come along', async t => {
  const client = await clientOf(await startGateway(t))
  const { data } = await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  for (const query of ['', '?include=encounters', '?_revinclude=Encounter:subject']) {
    t.match((await client.send('GET', `patients/${data.id}${query}`, undefined, { 'if-none-match': 'B^n' })).body, { code: 'BAD_REQUEST' }, query)
    t.equal((await client.send('GET', `patients/${data.id}${query}`, undefined, { 'if-none-match': 'W/"none"' })).status, 200, query)
  }
})
