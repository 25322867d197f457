import t from 'tap'
import { createSignedInVisitor, createVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { startPostgres } from '../harness/postgres.js'

// PostgreSQL rejects text with a NUL and integers of more than four bytes, which was reported as an internal error,
// also to anonymous visitors.
t.test('a NUL or a line far beyond the last one is no internal error on PostgreSQL', async t => {
  const server = await startPostgres(t)
  const gateway = await startGateway(t, { environment: { CONTROL_DATABASE_URL: await server.createDatabase() } })
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'a test token' }, 'test')
  const getStatus = async (path: string) =>
    (await gateway.inject({ url: `/control/v1/${path}`, headers: { authorization: `Bearer ${secret}` } })).statusCode

  const stranger = createVisitor(gateway)
  const { status, text } = await stranger.post(
    '/dashboard/sign-in',
    { email: 'ann\0@clinic.example', password: 'a sentence that nobody knows' },
    '/dashboard/sign-in'
  )
  t.equal(status, 422)
  t.notMatch(text, /our fault/i)
  t.equal(await getStatus('keys/%00'), 422)
  t.equal(await getStatus('members/a%00b'), 422)
  t.equal(await getStatus('audit?before=2147483648'), 400)
  t.equal(await getStatus('audit?before=2147483647'), 200)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  t.equal((await operator.get('/dashboard/audit?before=2147483648')).status, 200)
  t.equal((await operator.get('/dashboard/audit?entity=%00')).status, 422)
  t.strictSame(gateway.logged().filter(({ level }) => Number(level) >= 50), [], 'nothing is logged as a fault')
})
