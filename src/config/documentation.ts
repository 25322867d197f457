import { configSchema } from '../config.js'
import { allSettings, type PropertySchema, type Setting } from './environment.js'

/** What surrounds the table in the README. */
export const markers = { start: '<!-- config:start -->', end: '<!-- config:end -->' } as const

/** The table of all settings, as the README shows it. */
export function configTable (): string {
  const rows = allSettings()
    .filter(({ path }) => path[0] !== '$schema')
    .map(setting => `| \`${setting.path.join('.')}\` | ${variableOf(setting)} | ${defaultOf(setting)} | ${meaningOf(setting)} |`)
  return ['| setting | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** The text with the present table between its {@link markers}; a text without them is returned as it is. */
export function withConfigTable (text: string): string {
  const [before, rest] = text.split(markers.start)
  const after = rest?.split(markers.end)[1]
  return after === undefined ? text : `${before}${markers.start}\n${configTable()}\n${markers.end}${after}`
}

/** The JSON schema for editors: what has a default need not be written. */
export function editorSchema (): unknown {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...withoutDefaultedRequired(configSchema as PropertySchema) as object }
}

/** A configuration file that says nothing but the defaults. */
export function defaultFile (): unknown {
  return { $schema: './clinigate.schema.json', ...defaultsOf(configSchema as PropertySchema) as object }
}

/** Every variable with its default, commented out, for a file that the process manager reads. */
export function environmentExample (): string {
  const blocks = allSettings().flatMap(({ path, schema }) => [
    ...(schema.env ? [`# ${schema.description}.\n#${schema.env}=${schema.default ?? schema.examples?.[0]}`] : []),
    ...(schema.urlEnv ? [`# URL of the datastore that ${path.join('.')} names.\n#${schema.urlEnv}=https://fhir.example.org/fhir`] : [])
  ])
  return ['# The configuration file; a variable below wins over it.\n#CLINIGATE_CONFIG=config/default.json', ...blocks].join('\n\n') + '\n'
}

function variableOf ({ schema }: Setting): string {
  if (schema.env) return `\`${schema.env}\``
  return schema.urlEnv ? `\`${schema.urlEnv}\` (its URL)` : ''
}

function defaultOf ({ schema }: Setting): string {
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``
}

function meaningOf ({ schema }: Setting): string {
  const unit = schema.unit ? `, in ${schema.unit}` : ''
  const example = JSON.stringify(schema.examples?.[0])
  const shown = example === undefined || example === JSON.stringify(schema.default) ? '' : `. Example: \`${example}\``
  const choice = schema.enum ? `: ${schema.enum.join(', ')}` : ''
  return `${schema.description}${unit}${choice}${shown}`.replaceAll('|', '\\|')
}

function withoutDefaultedRequired (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDefaultedRequired)
  if (schema === null || typeof schema !== 'object') return schema
  const { required, ...rest } = schema as PropertySchema & { required?: string[] }
  const needed = required?.filter(name => rest.properties?.[name]?.default === undefined) ?? []
  const walked = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withoutDefaultedRequired(value)]))
  return needed.length > 0 ? { ...walked, required: needed } : walked
}

function defaultsOf (schema: PropertySchema): unknown {
  if (!schema.properties) return schema.default
  const entries = Object.entries(schema.properties).map(([name, property]) => [name, defaultsOf(property)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
