import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { formType, isRefused, linkTo, listed, openWorld, patient, stored } from '../passthrough/fixture.js'

// A link to the next page that held a long search became a cursor which was then refused as expired: the rest of the
// result was lost.
t.test('a first page never leads to a second one that is refused', async t => {
  const sandbox = await startTestSandbox(t)
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  await stored(fhir, patient(), patient())
  const outcomes = new Set<number>()
  for (let length = 1_000; length <= 14_000; length += 500) {
    const first = await fhir.send('POST', '/Patient/_search', `_count=1&family=Byron,${'x'.repeat(length)}`, formType)
    outcomes.add(first.status)
    if (first.status === 200) {
      t.equal(listed(await fhir.send('GET', linkTo(first, 'next')!)).length, 1, `${length} characters`)
    } else isRefused(t, first, { status: 400, code: 'too-costly' }, `${length} characters`)
  }
  t.strictSame(outcomes, new Set([200, 400]), 'short ones go on, long ones are refused at once')
})
