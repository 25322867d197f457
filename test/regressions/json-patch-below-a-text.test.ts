import t from 'tap'
import { startGateway } from '../harness/gateway.js'

// The JSON Patch library throws for such a path where it returns an error for others, and the client got 500.
t.test('a JSON Patch whose path leads below a text, a number or a boolean does not apply', async t => {
  const { inject, createKey } = await startGateway(t)
  const headers = { 'x-api-key': (await createKey()).secret }
  const { data } = (
    await inject({ method: 'POST', url: '/v1/patients', headers, payload: { firstName: 'Ada', lastName: 'Byron' } })
  ).json()
  const operations = [
    { op: 'add', path: '/firstName/x', value: 1 },
    { op: 'replace', path: '/firstName/x', value: 1 },
    { op: 'remove', path: '/firstName/x' },
    { op: 'add', path: '/active/x', value: 1 },
    { op: 'move', from: '/lastName', path: '/active/x' },
    { op: 'test', path: '/firstName/x/y', value: 1 }
  ]
  for (const operation of operations) {
    const response = await inject({ method: 'PATCH', url: `/v1/patients/${data.id}`, headers, payload: [operation] })
    t.match(
      response.json(),
      { code: 'VALIDATION_ERROR', issues: [{ expression: ['[0]'] }], meta: { status: 422 } },
      JSON.stringify(operation)
    )
  }
  t.strictSame((await inject({ url: `/v1/patients/${data.id}`, headers })).json().data, data)
})
