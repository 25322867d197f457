/** The thread that waits for a ledger's disk. Started by {@link LedgerWriter}. */
import { serveFile } from '../../control-plane/outbox/file-thread.js'
import { LedgerFile } from './file.js'

serveFile<LedgerFile>(path => new LedgerFile(path), ['add', 'nextBatch', 'applyAck'])
