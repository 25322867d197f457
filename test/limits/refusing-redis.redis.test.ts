import t from 'tap'
import { connectRateLimitStore } from '../../src/limits/shared-counts.js'
import { redisPassword, startRedis } from '../harness/redis.js'
import { waitUntil } from '../harness/until.js'

t.test('when Redis rejects the password, the log reports it, without the password', async t => {
  const { url } = await startRedis(t)
  const logged: unknown[] = []
  const shared = connectRateLimitStore({
    url: url.replace(redisPassword, `not-${redisPassword}`),
    log: {
      info: () => {},
      warn: (...words: unknown[]) => {
        logged.push(words)
      }
    }
  })
  t.teardown(() => shared.close())
  await waitUntil(async () => logged.length > 0)
  t.match(logged, [[{ reason: 'WRONGPASS' }, /each gateway counts alone/]])
  t.notMatch(JSON.stringify(logged), redisPassword)
})
