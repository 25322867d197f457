import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'

/**
 * Checks values against the schemas of an OpenAPI document, each named by its JSON Pointer; returns the faults of the
 * value.
 */
export function createSchemaChecker (document: object): (pointer: string, value: unknown) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajvFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  const made = new Map<string, ValidateFunction>()
  return (pointer, value) => {
    const validate = made.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    made.set(pointer, validate)
    return validate(value)
      ? []
      : validate.errors!.map(
        ({ instancePath, message, params }) => `${pointer} ${instancePath}: ${message} ${JSON.stringify(params)}`
      )
  }
}
