import type { Mapping } from '../mappings/core/mapping.js'
import { referenceParameters } from '../mappings/r4/search-parameters.js'
import { referrersTo } from '../mappings/relations.js'
import { capabilityRest, importOperation, keySecurity, omitEmpty, type HasOperation } from '../api/passthrough/capability-rest.js'

/** The facts in the statement besides the resources. */
interface StatementFacts {
  readonly version: string
  readonly url: string
  /** The date of the statement: when this process began to offer the resources. */
  readonly date: Date
  /** Whether there is any host from which imports may fetch files. */
  readonly fetchesImports: boolean
}

/** Two views of what a client can do here with FHIR R4 records: http://hl7.org/fhir/R4/capabilitystatement.html */
interface Statements {
  /** Of all routes below `/v1`: the simple resources, then raw FHIR. */
  readonly full: (hasOperation: HasOperation) => unknown
  /** Of raw FHIR alone. */
  readonly fhir: (hasOperation: HasOperation) => unknown
}

export function capabilityStatements (mappings: readonly Mapping[], facts: StatementFacts): Statements {
  const simple = () => ({
    mode: 'server',
    documentation: 'Simple JSON below /v1, with a route for each resource. See /openapi.json.',
    security: keySecurity,
    resource: mappings.map(mapping => resourceOf(mapping, mappings))
  })
  const fhirBase = `${facts.url}/v1/fhir`
  const raw = (hasOperation: HasOperation) =>
    capabilityRest(hasOperation, facts.fetchesImports ? [importOperation(fhirBase)] : [])
  const about = 'Clinical records of the organization that owns the key'
  return {
    full: hasOperation => ({
      ...headOf(facts),
      implementation: {
        description: `${about}: simple JSON below /v1, and raw FHIR below /v1/fhir`,
        url: `${facts.url}/v1`
      },
      format: ['application/json', 'application/fhir+json'],
      patchFormat: ['application/json-patch+json', 'application/merge-patch+json'],
      rest: [simple(), raw(hasOperation)]
    }),
    fhir: hasOperation => ({
      ...headOf(facts),
      implementation: { description: about, url: fhirBase },
      format: ['application/fhir+json', 'json'],
      patchFormat: ['application/json-patch+json'],
      rest: [raw(hasOperation)]
    })
  }
}

function headOf ({ version, date }: StatementFacts) {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: date.toISOString(),
    kind: 'instance',
    software: { name: 'clinigate', version },
    fhirVersion: '4.0.1'
  }
}

function resourceOf (mapping: Mapping, mappings: readonly Mapping[]) {
  const { type, about, appendOnly } = mapping
  const interactions = appendOnly
    ? ['create', 'read', 'search-type']
    : ['create', 'read', 'search-type', 'patch', 'delete']
  return {
    type,
    documentation: about,
    interaction: interactions.map(code => ({ code })),
    versioning: 'versioned',
    updateCreate: false,
    ...omitEmpty({
      // With a read by id; every other reference of R4 that leads here can be followed back as well.
      searchInclude: referenceParameters(type).map(parameter => `${type}:${parameter}`),
      searchRevInclude: referrersTo(mapping, mappings).flatMap(({ mapping: { type: from }, parameters }) =>
        parameters.map(parameter => `${from}:${parameter}`)
      )
    })
  }
}
