import { createConfig, lintFromString } from '@redocly/openapi-core'

/** The findings of a linter for an OpenAPI document, with all its rules: at most twenty. */
export async function lintDocument (source: string): Promise<string[]> {
  // The members that one alternative of an object requires are among the properties of the object.
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-required-schema-properties-undefined': 'off' }
  })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return problems
    .map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`)
    .slice(0, 20)
}
