import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'

// The document allows null for each member; for the last one the answer was 422, that an object was expected.
test('an object whose last member is removed is removed', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const sent = async (method: string, path: string, body: unknown): Promise<any> => {
    const response = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return await response.json()
  }
  const {
    data: { id: patientId }
  } = await sent('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', address: { city: 'London' } })
  const {
    data: { id }
  } = await sent('POST', 'encounters', {
    patientId,
    class: 'AMB',
    status: 'planned',
    period: { start: '2026-03-14', end: '2026-03-15' }
  })
  const { data: task } = await sent('POST', 'tasks', {
    status: 'requested',
    intent: 'order',
    restriction: { repetitions: 2, period: { start: '2026' } }
  })

  for (let time = 1; time <= 2; time++) {
    const { data, meta } = await sent('PATCH', `encounters/${id}`, { period: { start: null, end: null } })
    t.strictSame([meta.status, data?.period], [200, undefined], `time ${time}`)
  }
  const patched = await sent('PATCH', `patients/${patientId}`, [{ op: 'remove', path: '/address/city' }])
  t.strictSame([patched.meta.status, patched.data?.address], [200, undefined])
  t.strictSame(
    (await sent('PATCH', `tasks/${task.id}`, { restriction: { period: { start: null } } })).data?.restriction,
    { repetitions: 2 }
  )
  t.strictSame(
    (await sent('PATCH', `tasks/${task.id}`, { restriction: { repetitions: null } })).data?.restriction,
    undefined
  )

  const observation = await sent('POST', 'observations', { patientId, code: { code: 'x' } })
  t.match(
    await sent('PATCH', `observations/${observation.data.id}`, { code: { code: null } }),
    { code: 'VALIDATION_ERROR', issues: [{ expression: ['code'], code: 'required' }] },
    'but not what is required'
  )
  t.match(await sent('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', address: {} }), {
    code: 'VALIDATION_ERROR'
  })
  for (const body of [
    { address: {} },
    { middleName: {} },
    { middleName: { first: null } },
    [{ op: 'add', path: '/middleName', value: {} }]
  ]) {
    await sent('PATCH', `patients/${patientId}`, { middleName: 'King', address: null })
    t.match(
      await sent('PATCH', `patients/${patientId}`, body),
      { code: 'VALIDATION_ERROR' },
      `${JSON.stringify(body)} is a mistake, and no removal`
    )
  }
})
