import t from 'tap'
import { runChaos } from './chaos.js'

t.setTimeout(300_000)

t.test(
  "under any fault no acknowledged write is lost or done twice, no tenant reads another's data, and service recovers soon",
  async t => {
    const seed = Date.now() % 2 ** 31
    // The machine may be busy.
    const { recoveries, counts, violations } = await runChaos({
      seconds: 20,
      seed,
      recoveredWithinMs: 25_000,
      jobsEndWithinMs: 3_000,
      log: line => t.comment(line)
    })
    t.comment(JSON.stringify({ seed, ...counts }))
    const {
      created = 0,
      failures = 0,
      lines = 0,
      imports = 0,
      exports = 0,
      jobsLeft = 0,
      refusedWithoutRoom = 0
    } = counts
    t.strictSame(violations, [], `seed ${seed}`)
    t.ok(
      recoveries.length > 0 && created > 0 && failures > 0 && lines > 0 && imports + exports + jobsLeft > 0,
      'something went wrong, and something was promised'
    )
    t.ok(
      refusedWithoutRoom > 0 || !recoveries.some(({ name }) => name === 'disk full'),
      'without room for its line, nothing is answered'
    )
  }
)
