/**
 * Generates the client's types of the API from the declarations that `npm run build` has just compiled: `openapi.ts`
 * and `resource-paths.ts`. Neither is in the repository; the first line of the types has the hash of their OpenAPI
 * document.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { mappings } from '../../dist/mappings/registry.js'
import { buildOpenApiDocument } from '../../dist/api/openapi/document.js'
import { describeRoutes } from '../../dist/bootstrap/describe-routes.js'
import { getDisplayName } from '../../dist/api/openapi/resource-schemas.js'

const toFileUrl = name => new URL(name, import.meta.url)
const described = await describeRoutes({ hasEvents: true })
const document = slimDocument(buildOpenApiDocument(mappings, { version: '', url: '/', described }))
const digest = createHash('sha256')
  .update(JSON.stringify(document))
  .update(readFileSync(import.meta.filename))
  .digest('hex')
const firstLine = `/* eslint-disable */ // of the document ${digest}`

if (!isUpToDate()) {
  put('resource-paths.ts', generateResourcePaths())
  put('openapi.ts', `${firstLine}\n${await generateTypes()}`)
}

/** Whole at once, since the linter may be reading. */
function put (name, text) {
  writeFileSync(toFileUrl(`${name}.unfinished`), text)
  renameSync(toFileUrl(`${name}.unfinished`), toFileUrl(name))
}

function isUpToDate () {
  const files = ['openapi.ts', 'resource-paths.ts'].map(toFileUrl)
  return files.every(existsSync) && readFileSync(files[0], 'utf8').startsWith(firstLine)
}

/** The document without what types do not say: examples, and the many ways to fail, which are one type. */
function slimDocument (document) {
  const copy = withoutAlternatives(structuredClone(document))
  for (const schema of Object.values(copy.components.schemas)) delete schema.examples
  for (const operation of Object.values(copy.paths).flatMap(Object.values)) {
    delete operation.description
    const successes = Object.entries(operation.responses).filter(([status]) => status < '300')
    operation.responses = Object.fromEntries(
      successes.map(([status, { headers: _, ...response }]) => [status, response])
    )
  }
  delete copy.tags
  delete copy.components.headers
  copy.components.responses = { Deleted: copy.components.responses.Deleted }
  return copy
}

/** That one of several members is required is more than the types say. */
function withoutAlternatives (schema) {
  if (Array.isArray(schema)) return schema.map(withoutAlternatives)
  if (typeof schema !== 'object' || schema === null) return schema
  const isAlternative = ({ anyOf }) => anyOf?.every(branch => Object.keys(branch).join() === 'required')
  const members = Object.entries(schema).filter(([name, value]) => name !== 'allOf' || !value.every(isAlternative))
  return Object.fromEntries(members.map(([name, value]) => [name, withoutAlternatives(value)]))
}

async function generateTypes () {
  const { default: openapiTs, astToString } = await import('openapi-typescript')
  const all = astToString(await openapiTs(document, { defaultNonNullable: false, silent: true }))
  return `${all}\n${listResourceNames()
    .map(name => `export type ${name} = components['schemas']['${name}']`)
    .join('\n')}\n`
}

/** The types that people look for; the others are found in them. */
function listResourceNames () {
  return mappings.flatMap(mapping => [
    getDisplayName(mapping),
    `${getDisplayName(mapping)}Create`,
    ...(mapping.appendOnly ? [] : [`${getDisplayName(mapping)}Change`])
  ])
}

function generateResourcePaths () {
  const toCamelCase = path => path.replace(/-(.)/g, (_, letter) => letter.toUpperCase())
  const entries = mappings.map(({ path }) => `  ${toCamelCase(path)}: '/v1/${path}'`)
  return `/** The path of each resource by its name in the client. */\nexport const resourcePaths = {\n${entries.join(',\n')}\n} as const\n`
}
