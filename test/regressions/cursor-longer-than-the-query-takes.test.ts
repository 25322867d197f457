import { randomUUID } from 'node:crypto'
import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// A long search got a cursor of more characters than any value of a query might have: its second page was refused.
t.test('the next page of a long search is found', async t => {
  const client = await clientOf(await startGateway(t))
  const system = 'http://example.org/numbers-of-a-registry'
  const numbers = Array.from({ length: 32 }, () => randomUUID())
  const ids: string[] = []
  for (const value of numbers.slice(0, 2)) {
    ids.push(
      (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', identifiers: [{ system, value }] }))
        .data.id
    )
  }
  const searches = [
    `id=${[...ids, ...Array.from({ length: 38 }, () => randomUUID())].join()}`,
    `identifier=${encodeURIComponent(
      numbers
        .map(number => `${system}|${number}`)
        .slice(0, 24)
        .join()
    )}`
  ]
  for (const search of searches) {
    const first = await client.send('GET', `patients?count=1&${search}`)
    t.ok(first.data.cursor.length > 2000, 'a long cursor')
    const second = await client.send('GET', `patients?count=1&${search}&cursor=${first.data.cursor}`)
    t.match([second.status, second.data?.data?.length, second.data?.hasMore], [200, 1, false], second.text)
    t.strictSame([first, second].map(({ data }) => data.data[0].id).sort(), [...ids].sort())
  }
  t.match(await client.send('GET', `patients?cursor=${'x'.repeat(12_289)}`), {
    status: 400,
    body: { message: 'cursor: at most 12288 characters' }
  })
  t.match(await client.send('GET', `patients?name=${'x'.repeat(2_001)}`), {
    status: 400,
    body: { message: 'name: at most 2000 characters' }
  })
})
