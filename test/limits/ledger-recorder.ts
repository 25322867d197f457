/**
 * A process that counts as fast as it can, for tests that end it: `ledger-recorder.ts <folder>`. Before it counts
 * requests it reports how many there will be (`<`), and afterwards how many there are (`>`), with the time, in the file
 * `said`. With a second argument it sends them to a control plane as well, which is a database in the folder.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageLedger } from '../../src/limits/usage-ledger/ledger.js'
import { linesPerBatch } from '../../src/limits/usage.js'
import { BatchSender } from '../../src/control-plane/outbox/sender.js'
import { buildUsageEvent } from './usage-samples.js'

const [folder, sends] = process.argv.slice(2) as [string, string?]
const now = () => new Date()
const log = { info: writeLog, warn: writeLog, error: writeLog }
const ledger = new UsageLedger({ file: join(folder, 'usage.db'), now, log })
await ledger.opened

if (sends !== undefined) {
  const { openControlStore } = await import('../../src/control-plane/store/store.js')
  const control = await openControlStore({ file: join(folder, 'control.db'), plans: [], now })
  const sender = new BatchSender({ what: 'usage', linesPerBatch, ledger, send: batch => control.usage.apply(batch, 'one'), log, everyMs: 1 })
  process.once('exit', () => sender.stop())
}

// A file size limit simulates a full disk: it must cause an error, and not end the process.
process.on('SIGXFSZ', () => {})

let requests = 0
report('>')
setInterval(() => {
  const more = 1 + Math.floor(Math.random() * 100)
  report('<', requests + more)
  for (let i = 0; i < more; i++) {
    ledger.record(
      buildUsageEvent({ keyId: `key-${(requests + i) % 37}`, resource: i % 2 === 0 ? 'patients' : 'labs' }),
      now().toISOString()
    )
  }
  requests += more
  report('>')
}, 1)
setInterval(() => report(ledger.check().status), 100)

function report (what: string, count = requests): void {
  tryTo(() => appendFileSync(join(folder, 'said'), `\n${what} ${count} ${performance.now()};`))
}

function writeLog (detail: unknown): void {
  tryTo(() => appendFileSync(join(folder, 'log'), `${JSON.stringify(detail)}\n`))
}

/** The disk may be full. */
function tryTo (work: () => void): void {
  try {
    work()
  } catch {}
}
