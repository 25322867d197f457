import t from 'tap'
import { sharedCounts } from '../../src/limits/shared-counts.js'
import { redisPassword, startRedis } from '../harness/redis.js'
import { until } from '../harness/until.js'

t.test('where Redis refuses the password, the log says so, and not the password', async t => {
  const { url } = await startRedis(t)
  const said: unknown[] = []
  const shared = sharedCounts({
    url: url.replace(redisPassword, `not-${redisPassword}`),
    log: {
      info: () => {},
      warn: (...words: unknown[]) => {
        said.push(words)
      }
    }
  })
  t.teardown(() => shared.close())
  await until(async () => said.length > 0)
  t.match(said, [[{ reason: 'WRONGPASS' }, /each gateway counts alone/]])
  t.notMatch(JSON.stringify(said), redisPassword)
})
