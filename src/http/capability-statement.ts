import type { Mapping } from '../mappings/core/mapping.js'
import { referenceParameters } from '../mappings/r4/search-parameters.js'
import { referrersTo } from '../mappings/relations.js'
import type { Offered } from '../tenant-guard/capabilities.js'
import { subscriptionCapability, subscriptionServer } from '../api/passthrough/subscriptions/capability.js'
import { capabilityRest, importOperation, keySecurity, omitEmpty } from '../api/passthrough/capability-rest.js'

/** The facts in the statement besides the resources. */
interface StatementFacts {
  readonly version: string
  readonly url: string
  /** The date of the statement: when this process began to offer the resources. */
  readonly date: Date
  /** Whether there is any host from which imports may fetch files. */
  readonly fetchesImports: boolean
  /** Whether there are events, to which clients subscribe. */
  readonly hasEvents: boolean
}

/** Two views of what a client can do here with FHIR R4 records: http://hl7.org/fhir/R4/capabilitystatement.html */
interface Statements {
  /** Of all routes below `/v1`: the simple resources, then raw FHIR. */
  readonly full: (offered: Offered) => unknown
  /** Of raw FHIR alone. */
  readonly fhir: (offered: Offered) => unknown
}

export function capabilityStatements (mappings: readonly Mapping[], facts: StatementFacts): Statements {
  const simple = (offered: Offered) => ({
    mode: 'server',
    documentation: 'Simple JSON below /v1, with a route for each resource. See /openapi.json.',
    security: keySecurity,
    resource: mappings
      .filter(({ type }) => offered.hasType(type))
      .map(mapping => resourceOf(mapping, mappings, offered))
  })
  const fhirBase = `${facts.url}/v1/fhir`
  const raw = (offered: Offered) =>
    capabilityRest(offered, {
      operations: facts.fetchesImports ? [importOperation(fhirBase)] : [],
      resources: facts.hasEvents ? [subscriptionCapability(fhirBase, offered)] : []
    })
  const about = 'Clinical records of the organization that owns the key'
  return {
    full: offered => ({
      ...headOf(facts),
      implementation: {
        description: `${about}: simple JSON below /v1, and raw FHIR below /v1/fhir`,
        url: `${facts.url}/v1`
      },
      format: ['application/json', 'application/fhir+json'],
      patchFormat: ['application/json-patch+json', 'application/merge-patch+json'],
      rest: [simple(offered), raw(offered)]
    }),
    fhir: offered => ({
      ...headOf(facts),
      ...facts.hasEvents && { instantiates: [subscriptionServer] },
      implementation: { description: about, url: fhirBase },
      // Of the operations $export.
      implementationGuide: ['http://hl7.org/fhir/uv/bulkdata/ImplementationGuide/hl7.fhir.uv.bulkdata|3.0.0'],
      format: ['application/fhir+json', 'json'],
      patchFormat: ['application/json-patch+json'],
      rest: [raw(offered)]
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

function resourceOf (mapping: Mapping, mappings: readonly Mapping[], { hasParameter }: Offered) {
  const { type, about, appendOnly } = mapping
  const interactions = appendOnly
    ? ['create', 'read', 'search-type', 'delete']
    : ['create', 'read', 'search-type', 'patch', 'delete']
  return {
    type,
    documentation: about,
    interaction: interactions.map(code => ({ code })),
    versioning: 'versioned',
    updateCreate: false,
    ...omitEmpty({
      // With a read by id; every other reference of R4 that leads here can be followed back as well.
      searchInclude: referenceParameters(type)
        .filter(parameter => hasParameter(type, parameter))
        .map(parameter => `${type}:${parameter}`),
      searchRevInclude: referrersTo(mapping, mappings).flatMap(({ mapping: { type: from }, parameters }) =>
        parameters.filter(parameter => hasParameter(from, parameter)).map(parameter => `${from}:${parameter}`)
      )
    })
  }
}
