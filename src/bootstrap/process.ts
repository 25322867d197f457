import cluster from 'node:cluster'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import { loadConfig } from '../config/load.js'
import { createLogDestination, buildLogOptions } from '../http/log.js'
import { lockDirectory } from './lock-directory.js'
import { openService, type Service } from './service.js'
import { formatStartupMessage, initializeControlPlane } from './startup-message.js'
import { explainStartupError, withListenRemedy } from './startup-errors.js'
import { joinProcesses, type ProcessMember } from './processes/member.js'
import { version } from './version.js'

/** How long requests in progress may still take when the process receives the signal to end. */
const graceMs = 25_000

/** The command-line options of a start, in place of the variables. */
export interface StartOptions {
  readonly config?: string
  readonly role?: string
  readonly processes?: string
}

/** The environment of a start; `out` writes texts for people. */
interface StartContext {
  readonly environment: NodeJS.ProcessEnv
  readonly out: (text: string) => void
}

/**
 * Starts the service and runs it until the process receives the signal to end. The log goes to standard error as JSON
 * lines.
 * @throws {Error} whose message explains the failure to a person
 */
export async function startProcess (
  { config, role, processes }: StartOptions, { environment, out }: StartContext
): Promise<void> {
  try {
    await run(
      {
        ...environment,
        ...(config === undefined ? {} : { CLINIGATE_CONFIG: config }),
        ...(role === undefined ? {} : { CLINIGATE_ROLE: role }),
        ...(processes === undefined ? {} : { CLINIGATE_PROCESSES: processes })
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
  const log = pino(buildLogOptions(config.logLevel), createLogDestination(2, now))
  const parts = { environment, version, now, log }
  if (cluster.isWorker) return await runMember(config, { ...parts, out })
  const unlock = lockDirectory(config)
  // Also holds the locks, which the garbage collector would release.
  process.once('exit', unlock)
  try {
    if (config.processes > 1) return await runProcesses(config, parts)
    const service = await openService(config, { ...parts, logsCapabilities: true })
    await serve(service, config, { log, startup: begin(service, config).then(out) })
  } catch (error) {
    process.off('exit', unlock)
    unlock()
    throw error
  }
}

type RunParts = Pick<StartContext, 'environment'> & { readonly now: () => Date, readonly log: Logger }
type Logger = FastifyBaseLogger

/**
 * Serves until the process is to end: by a signal or, where it is one of several, by a message from the first of them.
 */
async function serve (
  service: Service,
  config: Config,
  { log, startup, skip = [] }: {
    readonly log: Logger, readonly startup: Promise<void>, readonly skip?: typeof signals
  }
): Promise<{ readonly close: () => void }> {
  const closing = closeWithGrace(
    { delay: config.drainSeconds * 1_000 + graceMs, logger: log, skip },
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
    await startup
  } catch (error) {
    closing.uninstall()
    await service.close()
    throw error
  }
  return closing
}

const signals = ['SIGHUP' as const, 'SIGINT' as const, 'SIGQUIT' as const, 'SIGTERM' as const]

/**
 * Serves as one of several processes. A terminal and a service manager signal all of them, so that they leave it to the
 * first one when to end. If that is gone, they end at once.
 */
async function runMember (
  config: Config, { out, log: logOfAll, ...parts }: RunParts & Pick<StartContext, 'out'>
): Promise<void> {
  for (const signal of signals) process.on(signal, () => {})
  const stopping = new AbortController()
  const member = await joinProcesses({ version, onStop: () => stopping.abort() })
  const log = logOfAll.child({ process: member.number })
  const isFirst = member.number === 1
  const service = await openService(config, { ...parts, version, log, member, logsCapabilities: isFirst })
  const startup = begin(service, config, member).then(text => {
    if (isFirst && !member.isRestarted) out(text)
    member.reportStarted((service.app.server.address() as AddressInfo).port)
  })
  const closing = await serve(service, config, { log, startup, skip: signals })
  if (stopping.signal.aborted) closing.close()
  else stopping.signal.addEventListener('abort', closing.close)
}

/** Runs the processes that serve, and serves nothing itself. */
async function runProcesses (config: Config, parts: RunParts): Promise<void> {
  const { startProcesses } = await import('./processes/primary.js')
  const timeoutMs = config.drainSeconds * 1_000 + graceMs
  const group = await startProcesses(config, { ...parts, version })
  closeWithGrace({ delay: timeoutMs + graceMs, logger: parts.log }, async ({ err, signal }) => {
    if (err) parts.log.fatal({ err }, 'closing after an uncaught error')
    else parts.log.info({ signal }, 'closing')
    await group.stop(timeoutMs)
  })
  try {
    await group.started
  } catch {
    // The process that failed has logged the reason.
    await group.stop(timeoutMs)
    process.exit(1)
  }
}

/** @returns the message for the person who started it */
async function begin (
  { app, control, sandboxes, catchUp }: Service, config: Config, member?: ProcessMember
): Promise<string> {
  // The system gives each connection to one of the processes. Where it cannot, the first process does; a connection on
  // its way to a process that is killed hangs then.
  const sharing = member !== undefined && process.platform === 'linux' ? { reusePort: true } : {}
  const address = await withListenRemedy(
    app.listen({ host: config.host, port: member?.port ?? config.port, ...sharing })
  )
  const made = member !== undefined && member.number > 1 ? {} : control && await initializeControlPlane(control, config)
  await catchUp()
  return formatStartupMessage({ version, address, sandboxes, ...made }, config)
}
