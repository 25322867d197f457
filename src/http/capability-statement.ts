import type { Mapping } from '../mappings/core/mapping.js'
import { listReferenceParameters } from '../mappings/r4/search-parameters.js'
import { listReferrers } from '../mappings/relations.js'
import type { Offered } from '../tenant-guard/capabilities.js'
import { buildSubscriptionCapability, subscriptionServer } from '../api/passthrough/subscriptions/capability.js'
import {
  buildCapabilityRest, buildImportOperation, keySecurity, omitEmpty
} from '../api/passthrough/capability-rest.js'

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

export function buildCapabilityStatements (mappings: readonly Mapping[], facts: StatementFacts): Statements {
  const buildSimpleRest = (offered: Offered) => ({
    mode: 'server',
    documentation: 'Simple JSON below /v1, with a route for each resource. See /openapi.json.',
    security: keySecurity,
    resource: mappings
      .filter(({ type }) => offered.hasType(type))
      .map(mapping => buildSimpleResource(mapping, mappings, offered))
  })
  const fhirBase = `${facts.url}/v1/fhir`
  const buildFhirRest = (offered: Offered) =>
    buildCapabilityRest(offered, {
      operations: facts.fetchesImports ? [buildImportOperation(fhirBase)] : [],
      resources: facts.hasEvents ? [buildSubscriptionCapability(fhirBase, offered)] : []
    })
  const about = 'Clinical records of the organization that owns the key'
  return {
    full: offered => ({
      ...buildStatementHead(facts),
      implementation: {
        description: `${about}: simple JSON below /v1, and raw FHIR below /v1/fhir`,
        url: `${facts.url}/v1`
      },
      format: ['application/json', 'application/fhir+json'],
      patchFormat: ['application/json-patch+json', 'application/merge-patch+json'],
      rest: [buildSimpleRest(offered), buildFhirRest(offered)]
    }),
    fhir: offered => ({
      ...buildStatementHead(facts),
      ...facts.hasEvents && { instantiates: [subscriptionServer] },
      implementation: { description: about, url: fhirBase },
      // Of the operations $export.
      implementationGuide: ['http://hl7.org/fhir/uv/bulkdata/ImplementationGuide/hl7.fhir.uv.bulkdata|3.0.0'],
      format: ['application/fhir+json', 'json'],
      patchFormat: ['application/json-patch+json'],
      rest: [buildFhirRest(offered)]
    })
  }
}

function buildStatementHead ({ version, date }: StatementFacts) {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: date.toISOString(),
    kind: 'instance',
    software: { name: 'clinigate', version },
    fhirVersion: '4.0.1'
  }
}

function buildSimpleResource (mapping: Mapping, mappings: readonly Mapping[], { hasParameter }: Offered) {
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
      searchInclude: listReferenceParameters(type)
        .filter(parameter => hasParameter(type, parameter))
        .map(parameter => `${type}:${parameter}`),
      searchRevInclude: listReferrers(mapping, mappings).flatMap(({ mapping: { type: from }, parameters }) =>
        parameters.filter(parameter => hasParameter(from, parameter)).map(parameter => `${from}:${parameter}`)
      )
    })
  }
}
