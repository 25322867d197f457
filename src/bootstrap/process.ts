import { setTimeout as pause } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import type { Config } from '../config/schema.js'
import { loadConfig } from '../config/load.js'
import { logDestination } from '../http/log-destination.js'
import { logOptions } from '../http/log.js'
import { openService, type Service } from './service.js'
import { startupMessage } from './startup-message.js'
import { firstStart } from './first-start.js'
import { explainStartupError } from './startup-errors.js'
import { version } from './version.js'

/** How long requests in progress may still take when the process is asked to end. */
const graceMs = 25_000

/** The command-line options of a start, in place of the variables. */
export interface StartOptions {
  readonly config?: string
  readonly role?: string
}

/** The environment of a start; `out` writes texts for people. */
interface StartContext {
  readonly environment: NodeJS.ProcessEnv
  readonly out: (text: string) => void
}

/**
 * Starts the service and lets it run until the process is asked to end. The log goes to standard error as JSON lines.
 * @throws {Error} whose message explains the failure to a person
 */
export async function startProcess ({ config, role }: StartOptions, { environment, out }: StartContext): Promise<void> {
  try {
    await run(
      {
        ...environment,
        ...(config === undefined ? {} : { CLINIGATE_CONFIG: config }),
        ...(role === undefined ? {} : { CLINIGATE_ROLE: role })
      },
      out
    )
  } catch (error) {
    throw new Error(explainStartupError(error), { cause: error })
  }
}

async function run (environment: NodeJS.ProcessEnv, out: StartContext['out']): Promise<void> {
  const config = loadConfig(environment)
  const now = (): Date => new Date()
  const log = pino(logOptions(config.logLevel), logDestination(2, now))
  const service = await openService(config, { environment, version, logsCapabilities: true, now, log })
  const startup = begin(service, config)
  const closing = closeWithGrace(
    { delay: config.drainSeconds * 1_000 + graceMs, logger: log },
    async ({ err, signal }) => {
      service.leave()
      if (err) log.fatal({ err }, 'closing after an uncaught error')
      else log.info({ signal }, 'closing')
      // The secrets of the first start are shown once, so it is not interrupted. Its error is reported below.
      await startup.catch(() => {})
      if (!err) await pause(config.drainSeconds * 1_000)
      await service.close()
    }
  )
  try {
    out(await startup)
  } catch (error) {
    closing.uninstall()
    await service.close()
    throw error
  }
}

/** @returns the message for the person who started it */
async function begin ({ app, control, sandboxes, catchUp }: Service, config: Config): Promise<string> {
  const address = await app.listen({ host: config.host, port: config.port })
  const made = control && await firstStart(control, config)
  await catchUp()
  return startupMessage({ version, address, sandboxes, ...made }, config)
}
