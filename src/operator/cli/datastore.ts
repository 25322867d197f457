import { existsSync } from 'node:fs'
import { CommanderError, InvalidArgumentError, type Command } from 'commander'
import type { Backend } from '../../backends/backend.js'
import { HttpBackend } from '../../backends/http-backend.js'
import { loadConfig } from '../../config/load.js'
import type { Config } from '../../config/schema.js'
import { DatabaseUnavailable, ControlError } from '../../control-plane/store/control-error.js'
import { Failure } from '../../envelope/failures.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import { Disposables } from '../../bootstrap/parts.js'
import { listDatastoreNames, isSandbox, openDatastore, getSandboxFile } from '../../bootstrap/datastores.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { ScanIndex } from '../ownership-scan/scan-index.js'
import { discoverServedTypes } from '../../tenant-guard/served-types.js'
import { withRetry } from '../../tenant-guard/retry.js'
import { ExitWithFindings, Interrupted, type CliContext } from './context.js'

/** The dependencies of a command that scans a datastore. */
export interface OpenedDatastore {
  readonly config: Config
  readonly backend: Backend
  /** Empty. */
  readonly ledger: ScanIndex
}

/** Which datastore: one of the configuration, or one at a URL that needs no authentication. */
type DatastoreOption = { readonly name: string } | { readonly url: string }

/**
 * Opens a datastore for the work and closes it afterwards. Any error that prevents the work ends the command with 2,
 * because 1 reports the findings of the work.
 */
export async function openForDatastore (
  command: Command,
  { named, context: { environment, now } }: { readonly named: DatastoreOption, readonly context: CliContext },
  work: (opened: OpenedDatastore) => Promise<void>
): Promise<void> {
  const closers = new Disposables()
  try {
    const config = loadConfig(environment)
    const backend =
      'url' in named
        ? closers.add(createUrlBackend(command, named.url))
        : await openDatastore(config, requireKnownName(command, config, named.name), { environment, now, closers })
    await work({ config, backend, ledger: closers.add(new ScanIndex()) })
  } catch (error) {
    if (error instanceof ExitWithFindings || error instanceof Interrupted || error instanceof CommanderError) {
      throw error
    }
    command.error(`error: ${explain(error)}`, { exitCode: 2 })
  } finally {
    await closers.close()
  }
}

/**
 * Has a command do its work on the datastore that its argument names, or on the server at `--url`.
 * @returns the command, for its own options
 */
export function addDatastoreAction<Options extends { readonly url?: string }> (
  command: Command,
  context: CliContext,
  work: (opened: OpenedDatastore, options: Options) => Promise<void>
): Command {
  return command
    .argument('[datastore]', 'name in the configuration, such as test or live')
    .option('--url <url>', 'base URL of a FHIR server that needs no authentication, instead of a name')
    .action(async (name: string | undefined, options: Options) => {
      const { url } = options
      if ((name === undefined) === (url === undefined)) {
        command.error('error: name a datastore, or a server with --url', { exitCode: 2 })
      }
      const named = name === undefined ? { url: url! } : { name }
      await openForDatastore(command, { named, context }, opened => work(opened, options))
    })
}

function createUrlBackend (command: Command, url: string): HttpBackend {
  try {
    return new HttpBackend({ name: 'url', baseUrl: url })
  } catch (error) {
    return command.error(`error: ${(error as Error).message}`, { exitCode: 2 })
  }
}

function requireKnownName (command: Command, config: Config, name: string): string {
  const names = listDatastoreNames(config)
  if (!names.includes(name)) {
    command.error(
      `error: no datastore has this name${formatSuggestion(name, names, '.')} The configuration has: ${names.join(', ')}.`,
      { exitCode: 2 }
    )
  }
  if (isSandbox(config, name) && !existsSync(getSandboxFile(config, name))) {
    command.error(
      `error: the datastore ${name} has no URL and its sandbox is empty; is CLINIGATE_DATA the gateway's data directory?`,
      { exitCode: 2 }
    )
  }
  return name
}

/** The error of a command as text for an operator. Names no record. */
function explain (error: unknown): string {
  if (error instanceof ControlError && error.reason === 'missing') {
    return `${error.message} Are CLINIGATE_DATA and CONTROL_DATABASE_URL those of the gateway?`
  }
  if (error instanceof DatabaseUnavailable) return error.remedy
  if (!(error instanceof Failure)) return (error as Error).message
  const { status, reason, code } = (error.cause ?? {}) as { status?: number, reason?: string, code?: string }
  const known = [status === undefined ? undefined : `status ${status}`, code, reason]
    .filter(part => part !== undefined)
    .join(', ')
  const text = error.code === 'BAD_REQUEST' ? error.message : texts[error.code] ?? 'The datastore failed.'
  return known === '' ? text : `${text} (${known})`
}

const texts: Partial<Record<Failure['code'], string>> = {
  BACKEND_UNAVAILABLE: 'The datastore does not answer. Check its URL and that it is running.',
  BACKEND_TIMEOUT: 'The datastore did not answer in time.',
  BACKEND_ERROR: 'The gateway cannot use the datastore\'s response.'
}

/** Reads `Patient,Observation`. @throws {InvalidArgumentError} for a type that tenants cannot have records of */
export function parseTypes (text: string): string[] {
  return text.split(',').map(type => {
    if (isTenantType(type)) return type
    if (resourceTypes.has(type)) {
      throw new InvalidArgumentError(`Records of the type ${type} cannot belong to one tenant.`)
    }
    throw new InvalidArgumentError(`FHIR R4 has no such resource type${formatSuggestion(type, [...resourceTypes])}`)
  })
}

/**
 * The types that a datastore serves; of the named ones, each must be among them. Absent: all that tenants can have
 * records of.
 */
export async function fetchSupportedTypes (backend: Backend, types: readonly string[] | undefined): Promise<string[]> {
  const { tenant } = await discoverServedTypes(withRetry(backend))
  const missing = types?.find(type => !tenant.includes(type))
  if (missing !== undefined) throw new Error(`the datastore does not support the type ${missing}`)
  return tenant.filter(type => types?.includes(type) ?? true)
}
