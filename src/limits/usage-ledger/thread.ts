/** The thread that waits for a ledger's disk. Started by {@link LedgerWriter}. */
import { parentPort, workerData } from 'node:worker_threads'
import { LedgerClient } from './keeper.js'
import type { LedgerRequest } from './messages.js'

const keeper = new LedgerClient(workerData as string)
const port = parentPort!

port.on('message', (request: LedgerRequest | 'close') => {
  if (request !== 'close') return port.postMessage(keeper.response(request))
  keeper.close()
  port.close()
})
