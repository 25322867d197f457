/** The process: arguments, configuration, start, close with grace. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import { destination, pino } from 'pino'
import type { Config } from './config.js'
import { ConfigError, loadConfig } from './config/load.js'
import { logOptions } from './gateway/log.js'
import { openService } from './service.js'
import { announcement } from './service/announcement.js'
import { createDemo } from './service/demo.js'

const usage = `Usage: npm start [-- options]

  --config <file>  the configuration file, in place of CLINIGATE_CONFIG
  --version        print the version
  --help           print this

Messages for people go to standard output, the log goes to standard error as JSON lines.
`

/** How long requests that are under way may still take when the process is asked to end. */
const graceMs = 25_000

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

try {
  const { values } = parseArgs({ options: { config: { type: 'string' }, version: { type: 'boolean' }, help: { type: 'boolean' } } })
  if (values.help) process.stdout.write(usage)
  else if (values.version) process.stdout.write(`${version}\n`)
  else await run({ ...process.env, ...(values.config === undefined ? {} : { CLINIGATE_CONFIG: values.config }) })
} catch (error) {
  process.stderr.write(`clinigate: ${explain(error)}\n`)
  process.exitCode = 1
}

async function run (environment: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig(environment)
  const log = pino(logOptions(config.logLevel), destination(2))
  const service = await openService(config, { environment, version, now: () => new Date(), log })
  try {
    await start(service, config)
  } catch (error) {
    await service.close()
    throw error
  }
  closeWithGrace({ delay: graceMs, logger: log }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, 'closing after an error that nobody caught')
    else log.info({ signal }, 'closing')
    await service.close()
  })
}

async function start ({ app, control, keys, sandboxes }: Awaited<ReturnType<typeof openService>>, config: Config): Promise<void> {
  const address = await app.listen({ host: config.host, port: config.port })
  const demo = await createDemo(control, config.plans)
  await keys.catchUp()
  process.stdout.write(announcement({ version, address, sandboxes, demo }, config))
}

function explain (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return 'the port is taken by another process; choose another one with PORT'
  if (code === 'EACCES') return 'the address or the data directory is not allowed to this user; check HOST, PORT and CLINIGATE_DATA'
  return message
}
