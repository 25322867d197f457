/** The thread that waits for a ledger's disk. Started by {@link LedgerWriter}. */
import { parentPort, workerData } from 'node:worker_threads'
import { LedgerKeeper } from './keeper.js'
import type { LedgerAsked } from './messages.js'

const keeper = new LedgerKeeper(workerData as string)
const asking = parentPort!

asking.on('message', (asked: LedgerAsked | 'close') => {
  if (asked !== 'close') return asking.postMessage(keeper.answer(asked))
  keeper.close()
  asking.close()
})
