import type { FhirResource } from '../mappings/fhir.js'
import { parametersOf, resourceTypes } from './search-parameters.js'

const interactions = ['read', 'vread', 'update', 'delete', 'history-instance', 'create', 'search-type']

/** What the sandbox can do, as R4 states it. */
export function capabilityStatement ({ baseUrl, now }: { readonly baseUrl: string, now (): Date }): FhirResource {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: now().toISOString(),
    kind: 'instance',
    software: { name: 'clinigate sandbox' },
    implementation: { description: 'A small FHIR server for demos and tests', url: baseUrl },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json', 'json'],
    rest: [
      {
        mode: 'server',
        resource: [...resourceTypes].map(ofType),
        interaction: [{ code: 'transaction' }, { code: 'batch' }]
      }
    ]
  }
}

function ofType (type: string): unknown {
  return {
    type,
    interaction: interactions.map(code => ({ code })),
    versioning: 'versioned-update',
    updateCreate: true,
    conditionalCreate: true,
    conditionalUpdate: true,
    conditionalDelete: 'single',
    searchParam: [...parametersOf(type).values()].map(({ name, kind }) => ({ name, type: kind }))
  }
}
