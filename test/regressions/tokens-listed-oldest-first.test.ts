import { test } from 'tap'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

// Tokens came oldest first and whatever their state, so that the one just made stood below all that had ended long
// ago.
test('tokens are listed like keys: newest first, and those that ended after all others', async t => {
  const clock = { ms: Date.parse('2030-01-01T00:00:00Z') }
  const gateway = await startGateway(t, { now: () => new Date(clock.ms) })
  const tenantId = await gateway.createOrganization()
  for (const of of [undefined, tenantId]) {
    const make = async (name: string, expiresAt?: Date) => {
      clock.ms += 1_000
      return await gateway.control.tokens.create(
        { tenantId: of, name, role: of === undefined ? 'gateway' : 'viewer', expiresAt },
        'test'
      )
    }
    await make('token one')
    const revoked = await make('token two')
    await make('token three', new Date(clock.ms + 60_000))
    await make('token four')
    await gateway.control.tokens.revoke(revoked.tokenId, 'test')
    clock.ms += 60_000
    const operator = await signedIn(gateway, {
      role: 'operator',
      email: `ada${clock.ms}@example.org`,
      now: new Date(clock.ms)
    })
    const { html, text } = await operator.get(
      of === undefined ? '/dashboard/tokens' : `/dashboard/organizations/${of}/tokens`
    )
    t.same(text.match(/token (?:one|two|three|four)\b/g), ['token four', 'token one', 'token three', 'token two'])
    t.match(
      text,
      /token one .* Expired and revoked tokens .* token three viewer expired|token one .* Expired and revoked tokens .* token three gateway expired/
    )
    t.equal([...html.matchAll(/>Revoke</g)].length, 2, 'only what still opens something can be revoked')
  }
})
