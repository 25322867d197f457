/** The process: arguments, then the same start as that of the command line. */
import { parseArgs } from 'node:util'
import { requireOpenFiles, requireSupportedNode } from './bootstrap/requirements.js'
import { version } from './bootstrap/version.js'

const usage = `Usage: npm start [-- options]

  --role <role>    all (default), gateway, control or worker; overrides CLINIGATE_ROLE
  --processes <n>  processes that serve the port together (default 1); overrides CLINIGATE_PROCESSES
  --config <file>  configuration file; overrides CLINIGATE_CONFIG
  --version        print the version
  --help           print this help

Messages for people are written to standard output. The log is written to standard error as JSON lines.
`

try {
  requireSupportedNode()
  const {
    values: { help, version: showVersion, ...options }
  } = parseArgs({
    options: {
      role: { type: 'string' },
      processes: { type: 'string' },
      config: { type: 'string' },
      version: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  })
  if (help) process.stdout.write(usage)
  else if (showVersion) process.stdout.write(`${version}\n`)
  else {
    requireOpenFiles()
    const { startProcess } = await import('./bootstrap/process.js')
    await startProcess(options, { environment: process.env, out: text => process.stdout.write(text) })
  }
} catch (error) {
  process.stderr.write(`clinigate: ${(error as Error).message}\n`)
  process.exitCode = 1
}
