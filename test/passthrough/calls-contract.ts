import type { Test } from 'tap'
import { startWatched } from '../harness/recording-backend.js'
import { bundle, entry, observation, openWorld, patchEntry, patchType, patient, stored, type Fhir } from './fixture.js'

/** What requests of raw FHIR cost the datastore, whichever it is. */
export async function callsContract (
  t: Test,
  { url, server }: { readonly url: string; readonly server: 'sandbox' | 'hapi' }
): Promise<void> {
  const backend = await startWatched(url)
  t.after(() => backend.close())
  const join = (await openWorld(t, { url: backend.url, server })).fhir
  const calls = async (
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
    const { id } = (await send('POST', '/Patient', patient())).resource
    for (const path of [
      `/Patient/${id}`,
      `/Patient/${id}?_elements=name`,
      '/Patient/no-such',
      `/Patient/${id}/_history/1`
    ]) { await calls(t, ['GET'], path, () => send('GET', path)) }
    await calls(t, ['GET'], 'unchanged', () => send('GET', `/Patient/${id}`, undefined, { 'if-none-match': 'W/"1"' }))
    await calls(t, [], 'what cannot be', () => send('GET', '/Nothing/1'))
    await calls(t, ['GET', 'GET'], 'a history', () => send('GET', `/Patient/${id}/_history`))
  })

  await t.test('a search is one call, and one more for each reference that it goes over', async t => {
    const { send } = await join()
    const { id } = (await send('POST', '/Patient', patient())).resource
    await send('POST', '/Observation', observation(`Patient/${id}`))
    for (const query of ['', '?family=Byron', '?family=none', '?_summary=count', '?_revinclude=Observation:subject']) {
      await calls(t, ['GET'], query, () => send('GET', `/Patient${query}`))
    }
    await calls(t, ['GET', 'GET'], 'a chain', () => send('GET', '/Observation?subject:Patient.family=Byron'))
    await calls(t, ['GET'], 'a chain that leads nowhere', () => send('GET', '/Observation?subject:Patient.family=none'))
    await calls(t, [], 'a refused one', () => send('GET', '/Patient?nothing=1'))
  })

  await t.test('a write is one call when what it names is known, and a patch two', async t => {
    const fhir = await join()
    const { send } = fhir
    await calls(t, ['POST'], 'create', () => send('POST', '/Patient', patient()))
    const [id] = await stored(fhir, patient())
    await send('GET', `/Patient/${id}`)
    await calls(t, ['POST'], 'create that refers', () => send('POST', '/Observation', observation(`Patient/${id}`)))
    await calls(t, ['PUT'], 'update', () => send('PUT', `/Patient/${id}`, patient({ id, active: true })))
    await calls(t, ['PUT'], 'update of a version', () =>
      send('PUT', `/Patient/${id}`, patient({ id, active: false }), { 'if-match': 'W/"2"' })
    )
    await calls(t, ['GET', 'PUT'], 'patch', () =>
      send('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }], patchType)
    )
    await calls(t, ['POST'], 'conditional create', () =>
      send('POST', '/Patient', patient(), { 'if-none-exist': 'identifier=none' })
    )
    await calls(t, [], 'a refused one', () => send('PUT', `/Patient/${id}`, patient({ id: 'other' })))
  })

  await t.test('a delete is one look and the deed', async t => {
    const { send } = await join()
    const { id } = (await send('POST', '/Patient', patient())).resource
    await calls(t, ['GET', 'DELETE'], 'delete', () => send('DELETE', `/Patient/${id}`))
    await calls(t, ['GET'], 'of nothing', () => send('DELETE', '/Patient/no-such'))
  })

  await t.test('a transaction is one call, and one more for each entry that needs a look', async t => {
    const fhir = await join()
    const { id } = (await fhir.send('POST', '/Patient', patient())).resource
    const send =
      (...entries: object[]) =>
        () =>
          fhir.send('POST', '', bundle('transaction', ...entries))
    await calls(
      t,
      ['POST'],
      'creates and updates',
      send(
        ...Array.from({ length: 20 }, () => entry('POST', 'Observation', observation(`Patient/${id}`))),
        entry('PUT', `Patient/${id}`, patient())
      )
    )
    await calls(
      t,
      ['GET', 'POST'],
      'a patch',
      send(patchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }]))
    )
    await calls(t, ['POST', 'GET'], 'a read', send(entry('GET', `Patient/${id}`), entry('POST', 'Patient', patient())))
    await calls(t, [], 'a refused one', send(entry('POST', 'Patient', patient()), entry('GET', 'Patient?nothing=1')))
  })
}
