import { createConfig, lintFromString } from '@redocly/openapi-core'

/** What a linter says against an OpenAPI document, all its rules on: at most twenty complaints. */
export async function lintDocument (source: string): Promise<string[]> {
  // The members that one alternative of an object requires stand among the properties of the object.
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-required-schema-properties-undefined': 'off' }
  })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return problems
    .map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`)
    .slice(0, 20)
}
