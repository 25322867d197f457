import type { Mapping } from '../mappings/kit/mapping.js'
import { referenceParameters } from '../mappings/r4/search-parameters.js'
import { referrersTo } from '../mappings/relations.js'

/** What the statement says beside the resources; `date` is when this process came to offer them. */
export interface StatementFacts { readonly version: string, readonly url: string, readonly date: Date }

/** What a client can do here with FHIR R4 records, by any route: http://hl7.org/fhir/R4/capabilitystatement.html */
export function capabilityStatement (mappings: readonly Mapping[], { version, url, date }: StatementFacts): unknown {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: date.toISOString(),
    kind: 'instance',
    software: { name: 'clinigate', version },
    implementation: { description: 'Clinical records of the organization whose key is sent, in simple JSON below /v1', url: `${url}/v1` },
    fhirVersion: '4.0.1',
    format: ['application/json'],
    patchFormat: ['application/json-patch+json', 'application/merge-patch+json'],
    rest: [{
      mode: 'server',
      security: { description: 'A secret key in the header x-api-key' },
      resource: mappings.map(mapping => resourceOf(mapping, mappings))
    }]
  }
}

function resourceOf (mapping: Mapping, mappings: readonly Mapping[]) {
  const { type, about, appendOnly } = mapping
  const interactions = appendOnly ? ['create', 'read', 'search-type'] : ['create', 'read', 'search-type', 'patch', 'delete']
  return {
    type,
    documentation: about,
    interaction: interactions.map(code => ({ code })),
    versioning: 'versioned',
    updateCreate: false,
    // With a read by id; every other reference of R4 that leads here can be followed back as well.
    searchInclude: referenceParameters(type).map(parameter => `${type}:${parameter}`),
    searchRevInclude: referrersTo(mapping, mappings).flatMap(({ mapping: { type: from }, parameters }) => parameters.map(parameter => `${from}:${parameter}`))
  }
}
