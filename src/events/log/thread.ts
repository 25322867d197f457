/** The thread that waits for the event log's disk. Started by {@link EventLog}. */
import { serveFile } from '../../control-plane/outbox/file-thread.js'
import { EventFile } from './file.js'

serveFile<EventFile>(
  path => new EventFile(path),
  ['openLog', 'intents', 'createdSince', 'nextBatch', 'applyAck', 'state', 'makeRoom']
)
