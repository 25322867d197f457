import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { bundle, entry, isRefused, patient, sender } from '../passthrough/fixture.js'

// The issue said where the entry is, but called everything `invalid`: a client could not tell a missing type from a
// typing mistake.
t.test('an entry is refused with the issue code of the same request alone', async t => {
  const gateway = await startGateway(t)
  const send = sender(gateway, (await gateway.createKey()).secret)
  const entries: ReadonlyArray<readonly [number, string, object]> = [
    [404, 'not-found', entry('GET', 'Nothing/1')],
    [405, 'not-supported', entry('POST', 'Patient/1', patient())],
    [415, 'not-supported', entry('PATCH', 'Patient/1', patient())],
    [400, 'invalid', entry('POST', 'Observation', patient())]
  ]
  for (const [status, code, wrong] of entries) {
    isRefused(
      t,
      await send('POST', '', bundle('transaction', wrong)),
      { status, code, expression: ['Bundle.entry[0]'] },
      `transaction ${status}`
    )
    const { resource } = await send('POST', '', bundle('batch', wrong))
    t.match(
      resource.entry[0].response,
      { status: new RegExp(`^${status}`), outcome: { issue: [{ code, expression: ['Bundle.entry[0]'] }] } },
      `batch ${status}`
    )
  }
})
