import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testValidateRejections } from './validate-contract.js'
import { assertRejected, openWorld, buildPatient } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  const world = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  await t.test('a body without a resource to validate is refused', t => testValidateRejections(t, world))
  await t.test('a datastore that does not validate is not taken for one that finds no issue', async t => {
    const { send } = await world.fhir()
    assertRejected(
      t,
      await send('POST', '/Patient/$validate', buildPatient()),
      { status: 501, code: 'not-supported' },
      '$validate'
    )
  })
})
