import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configSchema, plansSchema, type Config, type Plans } from '../config.js'
import { nearest } from '../envelope/nearest.js'
import { applyEnvironment, knownVariables, type Environment } from './environment.js'
import { mistakesOf } from './mistakes.js'
import { secretMistakes } from './secrets.js'
import { readConnection } from './datastore-connection.js'
import { readSecretBytes } from './cursor-secret.js'

/** A configuration that can't be used, with every mistake found; no sentence repeats a configured value. */
export class ConfigError extends Error {
  constructor (readonly mistakes: readonly string[]) {
    super(`The configuration has ${mistakes.length} mistake${mistakes.length === 1 ? '' : 's'}:\n${mistakes.map(mistake => `  - ${mistake}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/**
 * The configuration of the file that `CLINIGATE_CONFIG` names and of the environment, which wins.
 * @throws {ConfigError} with all mistakes at once.
 */
export function loadConfig (environment: Environment): Config {
  const mistakes: string[] = [...misnamedVariables(environment), ...unverifiedTls(environment)]
  const settings = environment.CLINIGATE_CONFIG ? readSettings(environment.CLINIGATE_CONFIG, mistakes) : {}
  const variables = applyEnvironment(settings, environment)
  const found = mistakesOf(configSchema, settings, variables)
  mistakes.push(...found)
  const config = settings as unknown as Config
  // Rules across several settings only make sense on settings that have their form.
  if (found.length === 0) mistakes.push(...datastoreMistakes(config, environment), ...routingMistakes(config), ...cursorMistakes(config), ...auditLogMistakes(config), ...secretMistakes(config, environment))
  const plans = readPlans(typeof settings.plansFile === 'string' ? settings.plansFile : shippedPlans, mistakes)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return deepFreeze({ ...config, plans })
}

const shippedPlans = fileURLToPath(new URL('../../config/plans.json', import.meta.url))

type Settings = Record<string, unknown>

function readSettings (file: string, mistakes: string[]): Settings {
  const settings = readJson(file, 'CLINIGATE_CONFIG', mistakes)
  if (settings === undefined) return {}
  if (settings !== null && typeof settings === 'object' && !Array.isArray(settings)) return settings as Settings
  mistakes.push('CLINIGATE_CONFIG: the file must contain one JSON object')
  return {}
}

function readPlans (file: string, mistakes: string[]): Plans {
  const plans = readJson(file, 'plansFile', mistakes)
  if (plans !== undefined) mistakes.push(...mistakesOf(plansSchema, plans).map(mistake => `plans: ${mistake}`))
  return plans as Plans
}

function readJson (file: string, setting: string, mistakes: string[]): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    mistakes.push(`${setting}: the file ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`)
    return undefined
  }
}

function misnamedVariables (environment: Environment): string[] {
  return Object.keys(environment).filter(name => !knownVariables.includes(name)).flatMap(name => {
    const isOurs = name.startsWith('CLINIGATE_')
    const meant = isOurs ? nearest(name, knownVariables) : misspelt(name, environment)
    return isOurs || meant ? [`${name}: no such variable${meant ? `; did you mean ${meant}?` : ''}`] : []
  })
}

/**
 * The variable that one without our prefix almost spells: passed over, FHIR_LIVE_ULR would put live records into a sandbox. It may be
 * another program's where the one that it resembles is set, even if empty. Short names such as PORT resemble too much.
 */
function misspelt (name: string, environment: Environment): string | undefined {
  return nearest(name, knownVariables.filter(known => known.length > 8 && environment[known] === undefined), 2)
}

/** Node's own switch. Libraries would go by it that are not told to verify certificates all the same, as those of PostgreSQL and Redis. */
function unverifiedTls ({ NODE_TLS_REJECT_UNAUTHORIZED: switched }: Environment): string[] {
  return switched === '0' ? ['NODE_TLS_REJECT_UNAUTHORIZED: certificates are always verified; name an authority of your own with NODE_EXTRA_CA_CERTS instead'] : []
}

function datastoreMistakes (config: Config, environment: Environment): string[] {
  return Object.entries(config.datastores).flatMap(([name, datastore]) => {
    const connection = readConnection(datastore, environment)
    return 'mistakes' in connection ? connection.mistakes.map(mistake => `datastores.${name}.${mistake}`) : []
  })
}

function routingMistakes ({ datastores, routing }: Config): string[] {
  const named: Array<[setting: string, datastore: string]> = [
    ...Object.entries(routing.dedicated).map(([tenant, name]): [string, string] => [`routing.dedicated.${tenant}`, name])
  ]
  // Without a datastore of their names, `test` and `live` are the sandboxes; any other name must be one that exists.
  if (routing.test !== 'test') named.push(['routing.test', routing.test])
  if (routing.live !== 'live') named.push(['routing.live', routing.live])
  return named
    .filter(([, name]) => !Object.hasOwn(datastores, name))
    .map(([setting, name]) => {
      const meant = nearest(name, Object.keys(datastores))
      return `${setting}: names no entry in datastores${meant ? `; did you mean ${meant}?` : ''}`
    })
}

function cursorMistakes ({ cursor }: Config): string[] {
  const isGood = cursor.secretFile === undefined || readSecretBytes(cursor.secretFile) !== undefined
  return isGood ? [] : ['cursor.secretFile: the file must contain 32 bytes in base64']
}

function auditLogMistakes ({ auditLog: { file, auditEvents } }: Config): string[] {
  return auditEvents && file === undefined ? ['auditLog.auditEvents: AuditEvents are created from the lines of auditLog.file, which is not set'] : []
}

function deepFreeze<T> (value: T): T {
  if (value !== null && typeof value === 'object') {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
