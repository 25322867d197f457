import { isIP } from 'node:net'
import type { ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'
import { createAjv } from '../envelope/checked-input.js'
import { formatDidYouMean, findNearest } from '../envelope/nearest.js'

/** An invalid setting, by its path joined with `.`, and the error. */
export interface FormError { readonly path: string, readonly sentence: string }

/**
 * Fills in the defaults and lists the errors, each a sentence that begins with the setting, or with the variable that
 * set it. No sentence repeats a value.
 */
export function validateSettings (
  schema: TSchema,
  settings: unknown,
  variables: ReadonlyMap<string, string> = new Map()
): FormError[] {
  const validate = ajv.compile(schema)
  if (validate(settings)) return []
  return validate.errors!.map(error => {
    const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
    const { missingProperty, additionalProperty } = error.params as {
      readonly missingProperty?: string
      readonly additionalProperty?: string
    }
    return {
      path: join(path, missingProperty ?? additionalProperty ?? ''),
      sentence: formatSchemaError(error, path, variables.get(path))
    }
  })
}

const ajv = createAjv({
  allErrors: true, useDefaults: true, formats: { 'base-url': isBaseUrl, addresses: isAddresses }
}).addVocabulary(['env', 'urlEnv', 'secretEnv', 'unit', 'formerName'])

/** An http or https URL to which paths can be appended; a password in it would appear in logs. */
function isBaseUrl (text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && !/[?#\s]/.test(text)
}

/** IP addresses, or networks as `10.0.0.0/8`. */
function isAddresses (text: string): boolean {
  return text.split(',').every(part => {
    const [, address, prefix = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(part.trim()) ?? []
    return address !== undefined && isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128)
  })
}

function formatSchemaError (error: ErrorObject, path: string, variable: string | undefined): string {
  if (error.keyword === 'additionalProperties') return formatUnknownSetting(error, path)
  if (error.keyword === 'required') return `${join(path, error.params.missingProperty)}: is missing`
  return `${variable ?? (path || 'the file')}: ${messages[error.keyword]?.(error.params) ?? error.message}`
}

const messages: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  type: ({ type }) => `must be ${[type].flat().join(' or ')}`,
  format: ({ format }) => format === 'addresses'
    ? 'must be comma-separated IP addresses or networks such as 10.0.0.0/8'
    : 'must be an http or https URL without user, query or fragment',
  pattern: () => 'must not contain spaces or any of | , $ \\',
  minLength: () => 'must not be empty'
}

function formatUnknownSetting ({ params, parentSchema }: ErrorObject, path: string): string {
  const name: string = params.additionalProperty
  const known: Readonly<Record<string, { readonly formerName?: string }>> = parentSchema?.properties ?? {}
  const renamed = Object.keys(known).find(key => known[key]!.formerName === name)
  if (renamed !== undefined) return `${join(path, name)}: is called ${join(path, renamed)} now`
  const meant = findNearest(name, Object.keys(known))
  return `${join(path, name)}: no such setting${formatDidYouMean(meant && join(path, meant))}`
}

function join (path: string, name: string): string {
  return [path, name].filter(part => part !== '').join('.')
}
