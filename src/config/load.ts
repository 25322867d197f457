import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { visit } from 'jsonc-parser'
import { describeReadError } from '../files/read-error.js'
import { findSyntaxError } from '../json/json.js'
import { configSchema, plansSchema, type Config, type Plans } from './schema.js'
import { formatDidYouMean, findNearest } from '../envelope/nearest.js'
import { applyEnvironment, knownVariables, type Environment } from './environment.js'
import { validateSettings } from './schema-errors.js'
import { checkCrossFields } from './cross-field-checks.js'

/** A configuration that can't be used, with every mistake found; no sentence repeats a configured value. */
export class ConfigError extends Error {
  constructor (readonly errors: readonly string[]) {
    super(
      `The configuration has ${errors.length} mistake${errors.length === 1 ? '' : 's'}:\n${errors.map(error => `  - ${error}`).join('\n')}`
    )
    this.name = 'ConfigError'
  }
}

/**
 * The configuration of the file that `CLINIGATE_CONFIG` names and of the environment, which wins.
 * @throws {ConfigError} with all mistakes at once.
 */
export function loadConfig (environment: Environment): Config {
  const errors: string[] = [...checkVariableNames(environment), ...checkTlsVerification(environment)]
  const settings = environment.CLINIGATE_CONFIG ? readSettings(environment.CLINIGATE_CONFIG, errors) : {}
  const variables = applyEnvironment(settings, environment)
  const found = validateSettings(configSchema, settings, variables)
  const config = settings as unknown as Config
  errors.push(...found.map(({ sentence }) => sentence), ...checkCrossFields(config, environment, found))
  const plans = readPlans(typeof settings.plansFile === 'string' ? settings.plansFile : shippedPlans, errors)
  if (errors.length > 0) throw new ConfigError(errors)
  return deepFreeze({ ...config, plans })
}

const shippedPlans = join(import.meta.dirname, '../../config/plans.json')

type Settings = Record<string, unknown>

function readSettings (file: string, errors: string[]): Settings {
  const settings = readJson(file, 'CLINIGATE_CONFIG', errors)
  if (settings === undefined) return {}
  if (settings !== null && typeof settings === 'object' && !Array.isArray(settings)) return settings as Settings
  errors.push('CLINIGATE_CONFIG: the file must contain one JSON object')
  return {}
}

function readPlans (file: string, errors: string[]): Plans {
  const plans = readJson(file, 'plansFile', errors)
  if (plans !== undefined) errors.push(...validateSettings(plansSchema, plans).map(({ sentence }) => `plans: ${sentence}`))
  return plans as Plans
}

function readJson (file: string, setting: string, errors: string[]): unknown {
  try {
    // Some editors begin a file with a byte order mark, which they do not show.
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    const mistakes = checkJson(text)
    errors.push(...mistakes.map(mistake => `${setting}: ${mistake}`))
    return mistakes.length === 0 ? JSON.parse(text) : undefined
  } catch (error) {
    errors.push(error instanceof SyntaxError
      ? `${setting}: the file is not JSON`
      : `${setting}: the file cannot be read: ${describeReadError(error)}`)
    return undefined
  }
}

/** Where a text is not JSON first, or the names that an object has twice, of which a parser would drop one. */
function checkJson (text: string): string[] {
  const mistake = findSyntaxError(text)
  return mistake === undefined
    ? listDuplicateNames(text)
    : [`the file is not JSON, which has no comments and no comma after the last item: see line ${mistake.line}, column ${mistake.column}`]
}

function listDuplicateNames (text: string): string[] {
  const found: string[] = []
  const open: Array<Set<string>> = []
  visit(text, {
    onObjectBegin: () => { open.push(new Set()) },
    onObjectEnd: () => { open.pop() },
    onObjectProperty: (name, _offset, _length, line, column) => {
      const names = open.at(-1)
      if (names?.has(name)) found.push(`${name} is there twice, again in line ${line + 1}, column ${column + 1}`)
      names?.add(name)
    }
  })
  return found
}

function checkVariableNames (environment: Environment): string[] {
  return Object.keys(environment).filter(name => !knownVariables.includes(name)).flatMap(name => {
    const isOurs = name.startsWith('CLINIGATE_')
    const meant = isOurs ? findNearest(name, knownVariables) : findSimilarVariable(name, environment)
    return isOurs || meant ? [`${name}: no such variable${formatDidYouMean(meant)}`] : []
  })
}

/**
 * The variable that one without our prefix almost spells: passed over, FHIR_LIVE_ULR would put live records into a
 * sandbox. It may be another program's where the one that it resembles is set, even if empty. Short names such as PORT
 * resemble too much.
 */
function findSimilarVariable (name: string, environment: Environment): string | undefined {
  return findNearest(name, knownVariables.filter(known => known.length > 8 && environment[known] === undefined), 2)
}

/**
 * Node's own switch. Libraries that are not explicitly configured to verify certificates follow it, such as those of
 * PostgreSQL and Redis.
 */
function checkTlsVerification ({ NODE_TLS_REJECT_UNAUTHORIZED: switched }: Environment): string[] {
  return switched === '0'
    ? [
        'NODE_TLS_REJECT_UNAUTHORIZED: certificates are always verified; name an authority of your own with NODE_EXTRA_CA_CERTS instead'
      ]
    : []
}

function deepFreeze<T> (value: T): T {
  if (value !== null && typeof value === 'object') {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
