import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { waitUntil } from '../harness/until.js'
import { startControl, startGateway, fetchStatus } from '../sync/processes.js'
import { countLedgerRequests } from './usage-samples.js'

// Building the program and starting its processes takes its time.
t.setTimeout(300_000)

t.test(
  'through kills of gateway and control plane, the control plane gets the counts of the ledger, and never more than clients got',
  async t => {
    const control = await startControl(t)
    const { secret } = await control.store.keys.create(
      { tenantId: control.tenantId, mode: 'test', name: 'a key' },
      'test'
    )
    let gateway = await startGateway(t, control)
    await waitUntil(async () => (await fetchStatus(gateway, secret)) === 200)
    // That was the first; those before had no caller yet.
    let responseCount = 1
    const stopping = new AbortController()
    const keepRequesting = async () => {
      while (!stopping.signal.aborted) {
        // A response that the kill cut off was not received.
        const isGot = await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })
          .then(response => response.text())
          .then(
            () => true,
            () => false
          )
        if (isGot) responseCount++
        else await pause(20)
      }
    }
    const requesting = [keepRequesting(), keepRequesting(), keepRequesting()]
    const waitForMore = async () => {
      const before = responseCount
      await waitUntil(() => responseCount > before + 100)
    }
    await waitForMore()
    await control.end('SIGKILL')
    await waitForMore()
    const [file, before] = [join(gateway.data, 'usage.db'), responseCount]
    await waitUntil(() => countLedgerRequests(file) >= before)
    t.pass('what was answered comes to disk by itself')
    await gateway.end('SIGKILL')
    const mayBeLost = responseCount + requesting.length - before
    gateway = await gateway.again()
    await waitForMore()
    await control.again()
    await waitForMore()
    stopping.abort()
    await Promise.all(requesting)
    t.equal(await gateway.end(), 0)

    const held = countLedgerRequests(file)
    t.comment(`${responseCount} answers, ${held} in the ledger, ${mayBeLost} may be lost`)
    t.ok(held <= responseCount + requesting.length, 'never more than answers, but for those that were on their way')
    t.ok(held >= responseCount - mayBeLost && held > 100)

    const again = await startGateway(t, control, { CLINIGATE_DATA: gateway.data })
    const countReceived = async () =>
      (
        await control.store.usage.sumUsage({
          tenantId: control.tenantId,
          from: new Date('2020-01-01'),
          to: new Date('2100-01-01')
        })
      ).totals[0]!.requests
    await waitUntil(async () => (await countReceived()) === held)
    await again.end()
    t.equal(await countReceived(), held)
  }
)
