import { join } from 'node:path'
import { loadConfig } from '../config/load.js'
import { openControlStore, type ControlStore } from '../control/store.js'

/** Where a command runs: what the process knows of its surroundings. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The name of the person, for the audit trail. */
  readonly user: string
  readonly now: () => Date
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** The same streams themselves, for a command whose input and output may be of any size. */
  readonly streams: Streams
}

/** The three standard streams of a process. */
export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>

/** What a command works with. */
export interface Control {
  /** Opens the control store for the work and prints what it gives as JSON: one thing on one line, a list for people to read. */
  readonly print: (work: (store: ControlStore) => Promise<object>) => Promise<void>
  /** Who does it, for the audit trail. */
  readonly by: string
}

/** The control store that the configuration names. */
export function controlIn ({ environment, user, now, out }: Surroundings): Control {
  return {
    by: `cli:${user}`,
    print: async work => {
      const { dataDirectory, plans } = loadConfig(environment)
      const store = await openControlStore({ file: join(dataDirectory, 'control.db'), plans: Object.keys(plans), now })
      try {
        const result = await work(store)
        out(JSON.stringify(result, null, Array.isArray(result) ? 2 : 0) + '\n')
      } finally {
        await store.close()
      }
    }
  }
}
