import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { until } from '../harness/until.js'
import { startControl, startGateway, statusAt } from '../sync/processes.js'
import { requestsIn } from './usage-samples.js'

// Building the program and starting its processes takes its time.
t.setTimeout(300_000)

t.test(
  'through kills of gateway and control plane, the control plane gets what the ledger holds, and that is never more than clients got',
  async t => {
    const control = await startControl(t)
    const { secret } = await control.store.keys.create(
      { tenantId: control.tenantId, mode: 'test', name: 'a key' },
      'test'
    )
    let gateway = await startGateway(t, control)
    await until(async () => (await statusAt(gateway, secret)) === 200)
    // That was the first; those before had no caller yet.
    let answered = 1
    const stopping = new AbortController()
    const ask = async () => {
      while (!stopping.signal.aborted) {
        // An answer that the kill cut off was not got.
        const isGot = await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })
          .then(response => response.text())
          .then(
            () => true,
            () => false
          )
        if (isGot) answered++
        else await pause(20)
      }
    }
    const asking = [ask(), ask(), ask()]
    const more = async () => {
      const before = answered
      await until(() => answered > before + 100)
    }
    await more()
    await control.end('SIGKILL')
    await more()
    const [file, before] = [join(gateway.data, 'usage.db'), answered]
    await until(() => requestsIn(file) >= before)
    t.pass('what was answered comes to disk by itself')
    await gateway.end('SIGKILL')
    const mayBeLost = answered + asking.length - before
    gateway = await gateway.again()
    await more()
    await control.again()
    await more()
    stopping.abort()
    await Promise.all(asking)
    t.equal(await gateway.end(), 0)

    const held = requestsIn(file)
    t.comment(`${answered} answers, ${held} in the ledger, ${mayBeLost} may be lost`)
    t.ok(held <= answered + asking.length, 'never more than answers, but for those that were on their way')
    t.ok(held >= answered - mayBeLost && held > 100)

    const again = await startGateway(t, control, { CLINIGATE_DATA: gateway.data })
    const taken = async () =>
      (
        await control.store.usage.totals({
          tenantId: control.tenantId,
          from: new Date('2020-01-01'),
          to: new Date('2100-01-01')
        })
      ).totals[0]!.requests
    await until(async () => (await taken()) === held)
    await again.end()
    t.equal(await taken(), held)
  }
)
