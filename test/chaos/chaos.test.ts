import t from 'tap'
import { chaos } from './chaos.js'

t.setTimeout(300_000)

t.test('whatever goes wrong, nothing acknowledged is lost, nothing is done twice, nobody sees another, and all is served again soon', async t => {
  const seed = Date.now() % 2 ** 31
  // The machine may have much else to do.
  const { recoveries, counts: { created = 0, failures = 0 }, violations } = await chaos({ seconds: 20, seed, recoveredWithinMs: 25_000, log: line => t.comment(line) })
  t.comment(JSON.stringify({ seed, created, failures }))
  t.strictSame(violations, [], `seed ${seed}`)
  t.ok(recoveries.length > 0 && created > 0 && failures > 0, 'something went wrong, and something was promised')
})
