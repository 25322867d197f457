import { join } from 'node:path'
import type { Config } from '../../config/schema.js'
import { readControlDatabaseUrl } from '../../config/secrets.js'
import { loadConfig } from '../../config/load.js'
import { createControlService } from '../../control-plane/store/control-service.js'
import { toKnownPlans } from '../../control-plane/store/organizations.js'
import { ControlError } from '../../control-plane/store/control-error.js'
import { openControlStore, type ControlStore } from '../../control-plane/store/store.js'
import { openDataFile } from '../../bootstrap/startup-errors.js'
import { createAdminClient, type AdminApiOptions, type CallOperation } from './admin-client.js'

/** The environment in which a command runs. */
export interface CliContext {
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

/** A command did its work and reported the faults that it found; the process ends with 1. */
export class ExitWithFindings extends Error {}

/**
 * The person ended a command and was shown how to continue; the process ends with 130, like one that the signal had
 * killed.
 */
export class Interrupted extends Error {}

/** The access of commands to the control plane. */
export interface Control {
  /** Does the work and prints its result as JSON: one object on one line, a list for people to read. */
  readonly print: (work: (call: CallOperation) => Promise<object>) => Promise<void>
  /** Does the work, which prints by itself. */
  readonly work: <T>(work: (call: CallOperation) => Promise<T>) => Promise<T>
}

/**
 * The operations of the management API: by an operator's control service on the store that the configuration names or,
 * with a URL, at the control plane there with the token in CONTROL_TOKEN.
 */
export function createControl (context: CliContext, urlOption: () => string | undefined): Control {
  const { environment, user, out } = context
  const withControlPlane: Control['work'] = async work => {
    const url = urlOption() ?? environment.CONTROL_URL
    if (url) return await work(createAdminClient(requireAdminApiOptions(url, environment)))
    return await withControlStore(loadConfig(environment), context, async store => {
      const service = createControlService(store, { name: `cli:${user}`, role: 'operator' })
      return await work(({ run }, ids, ...[body]) => run(service, { ids, query: {}, body: body! }))
    })
  }
  return {
    work: withControlPlane,
    print: async work => {
      const result = await withControlPlane(work)
      out(JSON.stringify(result, null, Array.isArray(result) ? 2 : 0) + '\n')
    }
  }
}

function requireAdminApiOptions (url: string, { CONTROL_TOKEN: token }: CliContext['environment']): AdminApiOptions {
  if (!URL.canParse(url) || !/^https?:\/\/[^?#@]+$/.test(url)) {
    throw new ControlError('invalid', 'The URL of the control plane must have the form https://control.example.org.')
  }
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !loopback.has(hostname)) {
    throw new ControlError('invalid', 'The token would travel unencrypted. Use https.')
  }
  if (!token) {
    throw new ControlError(
      'invalid',
      'Set the variable CONTROL_TOKEN to a management token. An operator creates one in the dashboard or with clinigate tokens create.'
    )
  }
  return { url: url.replace(/\/+$/, ''), token }
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Opens the control store that the configuration names, for the work. */
export async function withControlStore<T> (
  config: Config,
  { environment, now }: CliContext,
  work: (store: ControlStore) => Promise<T>
): Promise<T> {
  const url = readControlDatabaseUrl(config, environment)
  const store = await openDataFile(join(config.dataDirectory, 'control.db'), file =>
    openControlStore({ file, url, ...toKnownPlans(config.plans), now })
  )
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
