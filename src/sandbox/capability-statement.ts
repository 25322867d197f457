import type { FhirResource } from '../mappings/fhir.js'
import type { Sandbox } from './interaction.js'
import type { ServerBehaviour } from './server-behaviour.js'
import { parametersOf, resourceTypes } from './search-parameters.js'

const interactions = ['read', 'vread', 'update', 'delete', 'history-instance', 'create', 'search-type']
const writes: ReadonlySet<string> = new Set(['update', 'delete', 'create'])

/** What the sandbox can do, as R4 states it. */
export function capabilityStatement (
  { baseUrl, now, manners }: Pick<Sandbox, 'baseUrl' | 'now' | 'manners'>
): FhirResource {
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
        resource: [...resourceTypes]
          .filter(type => !manners.unstatedTypes.includes(type))
          .map(type => describeType(type, manners)),
        interaction: [{ code: 'transaction' }, { code: 'batch' }]
      }
    ]
  }
}

function describeType (type: string, { missingParameters, readOnlyTypes }: ServerBehaviour): unknown {
  const isReadOnly = readOnlyTypes.includes(type)
  return {
    type,
    interaction: interactions.filter(code => !isReadOnly || !writes.has(code)).map(code => ({ code })),
    versioning: 'versioned-update',
    updateCreate: true,
    conditionalCreate: true,
    conditionalUpdate: true,
    conditionalDelete: 'single',
    searchParam: [...parametersOf(type).values()]
      .filter(({ name }) => !missingParameters.includes(`${type}.${name}`))
      .map(({ name, kind }) => ({ name, type: kind }))
  }
}
