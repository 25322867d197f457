import { configSchema } from './schema.js'
import { catalog } from '../envelope/failures.js'
import { listSettings, type PropertySchema, type Setting } from './environment.js'

/**
 * A page with each of these tables between its markers, `<!-- config:start -->` and `<!-- config:end -->`; without them
 * it stays unchanged.
 */
export function withTables (text: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((written, [name, table]) => replaceBetweenMarkers(written, name, table), text)
}

/** The pages of the reference, with the tables between their markers. */
export const buildReferencePages = (): Readonly<Record<string, Readonly<Record<string, string>>>> => ({
  'docs/reference/configuration.md': { config: formatConfigTable() },
  'docs/reference/errors.md': { errors: formatErrorTable() }
})

function replaceBetweenMarkers (text: string, name: string, table: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  return after === undefined ? text : `${before}${start}\n${table}\n${end}${after}`
}

/** The catalog of failures. */
export function formatErrorTable (): string {
  const rows = Object.entries(catalog).map(([code, { status, remedy }]) => `| ${status} | \`${code}\` | ${remedy} |`)
  return ['| status | code | what to do |', '|---|---|---|', ...rows].join('\n')
}

/** The table of all settings. */
function formatConfigTable (): string {
  const rows = listSettings()
    .filter(({ path }) => path[0] !== '$schema')
    .map(
      setting =>
        `| \`${setting.path.join('.')}\` | ${formatVariable(setting)} | ${formatDefault(setting)} | ${formatMeaning(setting)} |`
    )
  return ['| setting | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** The JSON schema for editors: what has a default need not be written. */
export function buildEditorSchema (): unknown {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...(withoutDefaultedRequired(configSchema as PropertySchema) as object)
  }
}

/** A configuration file that contains only the defaults. */
export function buildDefaultFile (): unknown {
  return { $schema: './clinigate.schema.json', ...buildDefaults(configSchema as PropertySchema) as object }
}

/** Every variable with its default, commented out, for a file that the process manager reads. */
export function formatEnvironmentExample (): string {
  const blocks = listSettings().flatMap(({ path, schema }) => [
    ...(schema.env ? [`# ${schema.description}.\n#${schema.env}=${schema.default ?? schema.examples?.[0]}`] : []),
    ...(schema.secretEnv
      ? [`# Content of the file that ${path.join('.')} names; takes precedence over the file.\n#${schema.secretEnv}=`]
      : []),
    ...(schema.urlEnv
      ? [`# URL of the datastore that ${path.join('.')} names.\n#${schema.urlEnv}=https://fhir.example.org/fhir`]
      : [])
  ])
  return (
    [
      '# The configuration file; the variables below take precedence over it.\n#CLINIGATE_CONFIG=config/default.json',
      ...blocks
    ].join('\n\n') + '\n'
  )
}

function formatVariable ({ schema }: Setting): string {
  if (schema.env) return `\`${schema.env}\``
  if (schema.secretEnv) return `\`${schema.secretEnv}\` (its content)`
  return schema.urlEnv ? `\`${schema.urlEnv}\` (its URL)` : ''
}

function formatDefault ({ schema }: Setting): string {
  return schema.default === undefined ? '' : formatWithUnit(schema, schema.default)
}

function formatWithUnit ({ unit }: PropertySchema, value: unknown): string {
  return `\`${JSON.stringify(value)}\`${unit && value !== null ? ` ${unit}` : ''}`
}

function formatMeaning ({ schema }: Setting): string {
  const example = schema.examples?.[0]
  const isIncluded = example !== undefined && JSON.stringify(example) !== JSON.stringify(schema.default)
  const choice = schema.enum ? ` One of: ${schema.enum.map(value => `\`${value}\``).join(', ')}.` : ''
  return `${schema.description}.${choice}${isIncluded ? ` Example: ${formatWithUnit(schema, example)}` : ''}`.replaceAll(
    '|',
    '\\|'
  )
}

function withoutDefaultedRequired (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDefaultedRequired)
  if (schema === null || typeof schema !== 'object') return schema
  const { required, ...rest } = schema as PropertySchema & { required?: string[] }
  const needed = required?.filter(name => rest.properties?.[name]?.default === undefined) ?? []
  const walked = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, withoutDefaultedRequired(value)])
  )
  return needed.length > 0 ? { ...walked, required: needed } : walked
}

function buildDefaults (schema: PropertySchema): unknown {
  if (!schema.properties) return schema.default
  const entries = Object.entries(schema.properties)
    // An object that may be left out is not begun by the defaults of its settings.
    .filter(([name, property]) => !property.properties || schema.required?.includes(name))
    .map(([name, property]) => [name, buildDefaults(property)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
