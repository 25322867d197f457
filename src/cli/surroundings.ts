import { join } from 'node:path'
import type { Config } from '../config.js'
import { controlDatabaseUrl } from '../config/control-secrets.js'
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
export function controlIn (surroundings: Surroundings): Control {
  const { environment, user, out } = surroundings
  return {
    by: `cli:${user}`,
    print: async work => {
      const result = await withControlStore(loadConfig(environment), surroundings, work)
      out(JSON.stringify(result, null, Array.isArray(result) ? 2 : 0) + '\n')
    }
  }
}

/** Opens the control store that the configuration names, for the work. */
export async function withControlStore<T> (config: Config, { environment, now }: Surroundings, work: (store: ControlStore) => Promise<T>): Promise<T> {
  const url = controlDatabaseUrl(config, environment)
  const store = await openControlStore({ file: join(config.dataDirectory, 'control.db'), url, plans: Object.keys(config.plans), now })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
