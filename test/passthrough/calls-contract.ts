import type { Test } from 'tap'
import { startWatched } from '../harness/recording-backend.js'
import {
  buildBundle, buildEntry, buildObservation, openWorld, buildPatchEntry, patchType, buildPatient, storeResources,
  type Fhir
} from './fixture.js'

/** The number of requests to the datastore for each request of raw FHIR, whichever FHIR server it is. */
export async function testBackendCalls (
  t: Test,
  { url, server }: { readonly url: string; readonly server: 'sandbox' | 'hapi' }
): Promise<void> {
  const backend = await startWatched(url)
  t.after(() => backend.close())
  const join = (await openWorld(t, { url: backend.url, server })).fhir
  const assertCalls = async (
    t: Test,
    expected: readonly string[],
    message: string,
    request: () => ReturnType<Fhir['send']>
  ) => {
    const before = backend.seen.length
    const { status } = await request()
    const made = backend.seen.slice(before)
    t.strictSame(
      made.map(({ method }) => method),
      expected,
      `${message}: ${status}`
    )
    t.ok(status < 500, `${message}: ${status}`)
    return made
  }

  await t.test('a read is one call, whether the record is there or not', async t => {
    const { send } = await join()
    const { id } = (await send('POST', '/Patient', buildPatient())).resource
    for (const path of [
      `/Patient/${id}`,
      `/Patient/${id}?_elements=name`,
      '/Patient/no-such',
      `/Patient/${id}/_history/1`
    ]) { await assertCalls(t, ['GET'], path, () => send('GET', path)) }
    await assertCalls(t, ['GET'], 'unchanged', () => send('GET', `/Patient/${id}`, undefined, { 'if-none-match': 'W/"1"' }))
    await assertCalls(t, [], 'what cannot be', () => send('GET', '/Nothing/1'))
    await assertCalls(t, ['GET', 'GET'], 'a history', () => send('GET', `/Patient/${id}/_history`))
  })

  await t.test('a search is one call, and one more for each reference that it follows', async t => {
    const { send } = await join()
    const { id } = (await send('POST', '/Patient', buildPatient())).resource
    await send('POST', '/Observation', buildObservation(`Patient/${id}`))
    for (const query of ['', '?family=Byron', '?family=none', '?_summary=count', '?_revinclude=Observation:subject']) {
      await assertCalls(t, ['GET'], query, () => send('GET', `/Patient${query}`))
    }
    await assertCalls(t, ['GET', 'GET'], 'a chain', () => send('GET', '/Observation?subject:Patient.family=Byron'))
    await assertCalls(t, ['GET'], 'a chain that leads nowhere', () => send('GET', '/Observation?subject:Patient.family=none'))
    await assertCalls(t, [], 'a refused one', () => send('GET', '/Patient?nothing=1'))
  })

  await t.test('a write is one call when the records it names are known, and a patch two', async t => {
    const fhir = await join()
    const { send } = fhir
    await assertCalls(t, ['POST'], 'create', () => send('POST', '/Patient', buildPatient()))
    const [id] = await storeResources(fhir, buildPatient())
    await send('GET', `/Patient/${id}`)
    await assertCalls(t, ['POST'], 'create that refers', () => send('POST', '/Observation', buildObservation(`Patient/${id}`)))
    await assertCalls(t, ['PUT'], 'update', () => send('PUT', `/Patient/${id}`, buildPatient({ id, active: true })))
    await assertCalls(t, ['PUT'], 'update of a version', () =>
      send('PUT', `/Patient/${id}`, buildPatient({ id, active: false }), { 'if-match': 'W/"2"' })
    )
    await assertCalls(t, ['GET', 'PUT'], 'patch', () =>
      send('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }], patchType)
    )
    await assertCalls(t, ['POST'], 'conditional create', () =>
      send('POST', '/Patient', buildPatient(), { 'if-none-exist': 'identifier=none' })
    )
    await assertCalls(t, [], 'a refused one', () => send('PUT', `/Patient/${id}`, buildPatient({ id: 'other' })))
  })

  await t.test('a delete is one look-up and the delete', async t => {
    const { send } = await join()
    const { id } = (await send('POST', '/Patient', buildPatient())).resource
    await assertCalls(t, ['GET', 'DELETE'], 'delete', () => send('DELETE', `/Patient/${id}`))
    await assertCalls(t, ['GET'], 'of nothing', () => send('DELETE', '/Patient/no-such'))
  })

  await t.test('a transaction is one call, and one more for each entry that needs a look-up', async t => {
    const fhir = await join()
    const { id } = (await fhir.send('POST', '/Patient', buildPatient())).resource
    const send =
      (...entries: object[]) =>
        () =>
          fhir.send('POST', '', buildBundle('transaction', ...entries))
    await assertCalls(
      t,
      ['POST'],
      'creates and updates',
      send(
        ...Array.from({ length: 20 }, () => buildEntry('POST', 'Observation', buildObservation(`Patient/${id}`))),
        buildEntry('PUT', `Patient/${id}`, buildPatient())
      )
    )
    await assertCalls(
      t,
      ['GET', 'POST'],
      'a patch',
      send(buildPatchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }]))
    )
    await assertCalls(t, ['POST', 'GET'], 'a read', send(buildEntry('GET', `Patient/${id}`), buildEntry('POST', 'Patient', buildPatient())))
    await assertCalls(t, [], 'a refused one', send(buildEntry('POST', 'Patient', buildPatient()), buildEntry('GET', 'Patient?nothing=1')))
  })
}
