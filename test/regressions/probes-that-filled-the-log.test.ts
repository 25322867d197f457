import t from 'tap'
import { startGateway } from '../harness/gateway.js'

const [debug, info] = [20, 30]

// A load balancer asks every second: nothing else could be found between its lines.
t.test('a probe that succeeds is logged for those who debug, and all else for everybody', async t => {
  const { inject, logged } = await startGateway(t)
  const levelOf = async (method: 'GET' | 'HEAD' | 'POST', url: string) => {
    const before = logged().length
    const { statusCode } = await inject({ method, url })
    const [line] = logged().slice(before).filter(({ msg }) => msg === 'answered')
    return { statusCode, level: line?.level }
  }
  for (const url of ['/health', '/health/ready', '/health?full=1']) {
    t.strictSame(await levelOf('GET', url), { statusCode: 200, level: debug }, url)
    t.strictSame(await levelOf('HEAD', url), { statusCode: 200, level: debug }, `HEAD ${url}`)
  }
  t.strictSame(await levelOf('POST', '/health'), { statusCode: 405, level: info })
  t.strictSame(await levelOf('GET', '/health/nothing'), { statusCode: 404, level: info })
  t.strictSame(await levelOf('GET', '/v1/metadata'), { statusCode: 200, level: info })
})
