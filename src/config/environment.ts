import { configSchema } from './schema.js'

/** Variables as the process got them; an empty one counts as absent, as compose files pass it. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The path of a setting in the tree, e.g. `['limits', 'bodyBytes']`. */
type SettingPath = readonly string[]

/** A setting and its annotations, for the loader and the documentation, which traverse the schema. */
export interface Setting {
  readonly path: SettingPath
  readonly schema: PropertySchema
}

/** The part of a JSON schema that settings use. */
export interface PropertySchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly enum?: readonly string[]
  readonly env?: string
  readonly urlEnv?: string
  readonly secretEnv?: string
  readonly unit?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, PropertySchema>>
  readonly patternProperties?: Readonly<Record<string, PropertySchema>>
}

/** Every setting in the order of the schema; entries of a map stand under `<name>`. */
export function listSettings (
  schema: PropertySchema = configSchema as PropertySchema,
  path: SettingPath = []
): Setting[] {
  if (schema.properties) {
    return Object.entries(schema.properties).flatMap(([name, property]) => listSettings(property, [...path, name]))
  }
  const entry = Object.values(schema.patternProperties ?? {})[0]
  if (entry?.properties) return listSettings(entry, [...path, '<name>'])
  return [{ path, schema }]
}

const settings = listSettings()

/**
 * The variables of `clinigate bulk`: they are no settings, and may be set when the service or another command starts.
 */
const variablesOfBulk = ['CLINIGATE_API_KEY', 'CLINIGATE_URL']

/** The variables that this program reads, with `CLINIGATE_CONFIG`, which names the file. */
export const knownVariables: readonly string[] = [
  'CLINIGATE_CONFIG',
  ...variablesOfBulk,
  ...settings.flatMap(({ schema }) => [schema.env, schema.urlEnv, schema.secretEnv].filter(name => name !== undefined))
]

/**
 * Writes the variables into the settings of the file.
 * @returns the variable behind each setting that one has set, by its path joined with `.`, for messages.
 */
export function applyEnvironment (tree: Record<string, unknown>, environment: Environment): Map<string, string> {
  const variables = new Map<string, string>()
  const set = (variable: string | undefined, path: SettingPath, schema?: PropertySchema) => {
    const text = variable && environment[variable]
    if (!variable || !text) return
    if (write(tree, path, schema?.type === 'integer' ? readInteger(text) : text)) {
      variables.set(path.join('.'), variable)
    }
  }
  for (const { path, schema } of settings) {
    set(schema.env, path, schema)
    set(schema.urlEnv, ['datastores', findDatastoreName(tree, path) ?? String(schema.default), 'url'])
  }
  return variables
}

function findDatastoreName (tree: Record<string, unknown>, [group, name]: SettingPath): string | undefined {
  const chosen = asObject(tree[group!])?.[name!]
  return typeof chosen === 'string' ? chosen : undefined
}

// Anything else stays text, and the check says that it is no number.
function readInteger (text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** False where the file has something else than an object on the way, which the check reports. */
function write (tree: Record<string, unknown>, path: SettingPath, value: unknown): boolean {
  let parent: Record<string, unknown> | undefined = tree
  for (const name of path.slice(0, -1)) {
    parent[name] ??= {}
    parent = asObject(parent[name])
    if (!parent) return false
  }
  parent[path.at(-1)!] = value
  return true
}

function asObject (value: unknown): Record<string, unknown> | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
