import t from 'tap'

t.setTimeout(300_000)

t.test('whatever goes wrong, nothing acknowledged is lost, nothing is done twice, nobody sees another, and all is served again soon', async t => {
  // @ts-expect-error a program, without types
  const { chaos } = await import('./chaos.js')
  const seed = Date.now() % 2 ** 31
  // The machine may have much else to do.
  const { recoveries, counts, violations } = await chaos({ seconds: 20, seed, recoveredWithinMs: 25_000, log: (line: string) => t.comment(line) })
  t.comment(JSON.stringify({ seed, counts }))
  t.strictSame(violations, [], `seed ${seed}`)
  t.ok(recoveries.length > 0 && counts.created > 0 && counts.failures > 0, 'something went wrong, and something was promised')
})
