import { configSchema } from './schema.js'
import { catalog } from '../envelope/failures.js'
import { allSettings, type PropertySchema, type Setting } from './environment.js'

/**
 * A page with each of these tables between its markers, `<!-- config:start -->` and `<!-- config:end -->`; without them
 * it stays unchanged.
 */
export function withTables (text: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((written, [name, table]) => between(written, name, table), text)
}

/** The pages of the reference, with the tables between their markers. */
export const referencePages = (): Readonly<Record<string, Readonly<Record<string, string>>>> => ({
  'docs/reference/configuration.md': { config: configTable() },
  'docs/reference/errors.md': { errors: errorTable() }
})

function between (text: string, name: string, table: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  return after === undefined ? text : `${before}${start}\n${table}\n${end}${after}`
}

/** The catalog of failures. */
export function errorTable (): string {
  const rows = Object.entries(catalog).map(([code, { status, remedy }]) => `| ${status} | \`${code}\` | ${remedy} |`)
  return ['| status | code | what to do |', '|---|---|---|', ...rows].join('\n')
}

/** The table of all settings. */
function configTable (): string {
  const rows = allSettings()
    .filter(({ path }) => path[0] !== '$schema')
    .map(
      setting =>
        `| \`${setting.path.join('.')}\` | ${variableOf(setting)} | ${defaultOf(setting)} | ${meaningOf(setting)} |`
    )
  return ['| setting | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** The JSON schema for editors: what has a default need not be written. */
export function editorSchema (): unknown {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...(withoutDefaultedRequired(configSchema as PropertySchema) as object)
  }
}

/** A configuration file that says nothing but the defaults. */
export function defaultFile (): unknown {
  return { $schema: './clinigate.schema.json', ...defaultsOf(configSchema as PropertySchema) as object }
}

/** Every variable with its default, commented out, for a file that the process manager reads. */
export function environmentExample (): string {
  const blocks = allSettings().flatMap(({ path, schema }) => [
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

function variableOf ({ schema }: Setting): string {
  if (schema.env) return `\`${schema.env}\``
  if (schema.secretEnv) return `\`${schema.secretEnv}\` (its content)`
  return schema.urlEnv ? `\`${schema.urlEnv}\` (its URL)` : ''
}

function defaultOf ({ schema }: Setting): string {
  return schema.default === undefined ? '' : shownWithUnit(schema, schema.default)
}

function shownWithUnit ({ unit }: PropertySchema, value: unknown): string {
  return `\`${JSON.stringify(value)}\`${unit && value !== null ? ` ${unit}` : ''}`
}

function meaningOf ({ schema }: Setting): string {
  const example = schema.examples?.[0]
  const isIncluded = example !== undefined && JSON.stringify(example) !== JSON.stringify(schema.default)
  const choice = schema.enum ? ` One of: ${schema.enum.map(value => `\`${value}\``).join(', ')}.` : ''
  return `${schema.description}.${choice}${isIncluded ? ` Example: ${shownWithUnit(schema, example)}` : ''}`.replaceAll(
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

function defaultsOf (schema: PropertySchema): unknown {
  if (!schema.properties) return schema.default
  const entries = Object.entries(schema.properties)
    // An object that may be left out is not begun by the defaults of its settings.
    .filter(([name, property]) => !property.properties || schema.required?.includes(name))
    .map(([name, property]) => [name, defaultsOf(property)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
