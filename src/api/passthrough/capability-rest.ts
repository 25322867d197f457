import { maxEntries } from './bundle-request.js'
import { Failure } from '../../envelope/failures.js'
import { compartments } from '../../mappings/r4/compartments.js'
import {
  commonParameterNames,
  listParameterNames,
  findSearchParameter,
  listReferenceParameters,
  listReferenceParametersTo
} from '../../mappings/r4/search-parameters.js'
import type { FhirInteraction } from '../../tenant-guard/interaction.js'
import { authorize } from '../../tenant-guard/policy.js'
import type { Offered } from '../../tenant-guard/capabilities.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { terminologyOperations } from '../../tenant-guard/operations/terminology-operations.js'
import type { FhirRequest } from './fhir-request.js'
import { parseInteraction } from './interaction-of.js'

/** A sample request of one kind of interaction, without the caller's own values. */
interface Sample extends Pick<FhirRequest, 'method' | 'path' | 'body' | 'ifNoneExist'> {
  readonly kind: FhirInteraction['kind']
  readonly query?: FhirRequest['query']
}

/** R4's names of the interactions, http://hl7.org/fhir/R4/valueset-type-restful-interaction.html, as requests. */
const buildTypeSamples = (type: string): Readonly<Record<string, Sample>> => ({
  read: { kind: 'read', method: 'GET', path: [type, 'x'] },
  vread: { kind: 'vread', method: 'GET', path: [type, 'x', '_history', '1'] },
  update: { kind: 'update', method: 'PUT', path: [type, 'x'], body: { resourceType: type } },
  patch: { kind: 'patch', method: 'PATCH', path: [type, 'x'], body: [] },
  delete: { kind: 'delete', method: 'DELETE', path: [type, 'x'] },
  'history-instance': { kind: 'history', method: 'GET', path: [type, 'x', '_history'] },
  create: { kind: 'create', method: 'POST', path: [type], body: { resourceType: type } },
  'search-type': { kind: 'search', method: 'GET', path: [type] }
})

const onSystem: Readonly<Record<string, Sample>> = {
  transaction: {
    kind: 'transaction',
    method: 'POST',
    path: [],
    body: { resourceType: 'Bundle', type: 'transaction' }
  },
  batch: { kind: 'batch', method: 'POST', path: [], body: { resourceType: 'Bundle', type: 'batch' } }
}

const bulkOnSystem: Readonly<Record<string, Sample>> = { export: { kind: 'export', method: 'GET', path: ['$export'] } }

const bulkOn: Readonly<Record<string, Sample>> = {
  Patient: { kind: 'export', method: 'GET', path: ['Patient', '$export'] },
  Group: { kind: 'export', method: 'GET', path: ['Group', 'x', '$export'] }
}

/** Of http://hl7.org/fhir/uv/bulkdata/. */
const toBulkDefinitionUrl = (name: string): string => `http://hl7.org/fhir/uv/bulkdata/OperationDefinition/${name}`

const criteria = [['_id', 'x']] as const

/** The interactions that R4 states by a flag of their own. */
const buildConditionalSamples = (type: string): Readonly<Record<string, Sample>> => ({
  create: {
    kind: 'conditional-create',
    method: 'POST',
    path: [type],
    body: { resourceType: type },
    ifNoneExist: criteria
  },
  update: { kind: 'conditional-update', method: 'PUT', path: [type], body: { resourceType: type }, query: criteria },
  delete: { kind: 'conditional-delete', method: 'DELETE', path: [type], query: criteria }
})

const buildOperationSamples = (type: string): Readonly<Record<string, Sample>> => ({
  ...(Object.hasOwn(bulkOn, type) && { export: bulkOn[type]! }),
  everything: { kind: 'everything', method: 'GET', path: [type, 'x', '$everything'] },
  validate: { kind: 'validate', method: 'POST', path: [type, '$validate'], body: { resourceType: type } },
  ...Object.fromEntries(
    Object.entries(terminologyOperations)
      .map(([path, { needed }]) => [path.split('/'), needed] as const)
      .filter(([[requested]]) => requested === type)
      .map(([path, needed]) => [
        path[1]!.slice(1),
        { kind: 'terminology', method: 'GET', path, query: needed === undefined ? [] : [[needed, 'http://localhost']] }
      ])
  )
})

/**
 * Whether the sample is parsed as an interaction of its kind and is supported: the parser of requests itself decides,
 * so a statement cannot promise a request that is rejected.
 */
function isOffered ({ kind, query = [], ...sample }: Sample): boolean {
  try {
    const interaction = parseInteraction({ ...plain, ...sample, query })
    authorize(interaction)
    return interaction.kind === kind
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

const plain = { isLenient: false, showsWritten: false, fhirBase: 'http://localhost' }

const listOffered = (samples: Readonly<Record<string, Sample>>): string[] =>
  Object.keys(samples).filter(name => isOffered(samples[name]!))

/** An operation as the statement names it. */
interface StatedOperation { readonly name: string, readonly definition: string, readonly documentation?: string }

/** `$import` below a base of raw FHIR. No specification defines it, so each server names a definition of its own. */
export function buildImportOperation (fhirBase: string): StatedOperation {
  return {
    name: 'import',
    definition: `${fhirBase}/OperationDefinition/import`,
    documentation:
      "Imports NDJSON files as a job, with Prefer: respond-async. The Parameters are those of HAPI's $import: inputFormat, and input with type and url. The files are fetched over https, from hosts that the operator allowed."
  }
}

/** How clients authenticate, as a CapabilityStatement says it. */
export const keySecurity = { description: 'A secret key in the x-api-key header, or as Authorization: Bearer' }

/**
 * The part of a CapabilityStatement about raw FHIR: http://hl7.org/fhir/R4/capabilitystatement.html. `operations` on
 * the system, and `resources`, are those of the gateway's own configuration.
 * @param offered the capabilities of the datastores, which limit the stated types, operations and parameters
 */
export function buildCapabilityRest (
  offered: Offered,
  { operations: more, resources }: {
    readonly operations: readonly StatedOperation[], readonly resources: readonly unknown[]
  }
): unknown {
  return {
    mode: 'server',
    documentation: `Raw FHIR R4. Every record has the tag of the organization that owns the key. Records of other organizations are not found, and a reference must point to an existing record of the same organization. A Bundle of requests can have up to ${maxEntries.toLocaleString('en')} entries; send more in several Bundles, or use the bulk import.`,
    security: keySecurity,
    resource: [
      ...[...resourceTypes]
        .filter(offered.hasType)
        .map(type => buildRestResource(type, offered))
        .filter(resource => resource !== undefined),
      ...resources
    ],
    ...omitEmpty({
      interaction: listOffered(onSystem).map(code => ({ code })),
      operation: [...listOffered(bulkOnSystem).map(name => ({ name, definition: toBulkDefinitionUrl(name) })), ...more]
    }),
    compartment: compartments.map(holder => `http://hl7.org/fhir/CompartmentDefinition/${holder.toLowerCase()}`),
    searchParam: commonParameterNames.map(name => ({
      ...buildSearchParam('Resource', name),
      ...(Object.hasOwn(aboutCommon, name) && { documentation: aboutCommon[name] })
    }))
  }
}

const aboutCommon: Readonly<Record<string, string>> = {
  _tag: 'As system|code, with any system except the gateway\'s own tag system',
  _source: 'The value that the datastore set; a meta.source in a request is not stored'
}

/** The members that hold something, since FHIR has no empty lists. */
export function omitEmpty (lists: Readonly<Record<string, readonly unknown[]>>): Partial<typeof lists> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))
}

function buildRestResource (type: string, offered: Offered): unknown {
  const interaction = listOffered(buildTypeSamples(type))
  // Where a datastore exports nothing itself, the gateway does.
  const operation = listOffered(buildOperationSamples(type)).filter(
    name => name === 'export' || offered.hasOperation(type, name)
  )
  if (interaction.length + operation.length === 0) return undefined
  return {
    type,
    ...(type === 'Binary' && { documentation: aboutBinary }),
    ...(interaction.length > 0 && {
      ...buildWriteCapabilities(type),
      interaction: interaction.map(code => ({ code })),
      ...buildSearchCapabilities(type, offered)
    }),
    ...(operation.length > 0 && {
      operation: operation.map(name => ({ name, definition: toDefinitionUrl(type, name) }))
    })
  }
}

function toDefinitionUrl (type: string, name: string): string {
  if (name === 'export') return toBulkDefinitionUrl(`${type.toLowerCase()}-export`)
  return `http://hl7.org/fhir/OperationDefinition/${name === 'validate' ? 'Resource' : type}-${name}`
}

const aboutBinary =
  'Raw content is sent and read with its own media type, and the resource with application/fhir+json. X-Security-Context is stored as securityContext.'

function buildWriteCapabilities (type: string) {
  const conditionals = listOffered(buildConditionalSamples(type))
  return {
    versioning: 'versioned',
    readHistory: isOffered(buildTypeSamples(type).vread!),
    updateCreate: false,
    conditionalCreate: conditionals.includes('create'),
    conditionalRead: 'full-support',
    conditionalUpdate: conditionals.includes('update'),
    conditionalDelete: conditionals.includes('delete') ? 'single' : 'not-supported',
    referencePolicy: ['literal', 'logical', 'enforced', 'local']
  }
}

function buildSearchCapabilities (type: string, { hasType, hasParameter }: Offered) {
  const filterSupported = (names: readonly string[], from = type) => names.filter(name => hasParameter(from, name))
  return omitEmpty({
    searchInclude: filterSupported(listReferenceParameters(type)).map(parameter => `${type}:${parameter}`),
    searchRevInclude: [...resourceTypes]
      .filter(from => isTenantType(from) && hasType(from))
      .flatMap(from => filterSupported(listReferenceParametersTo(from, type), from).map(name => `${from}:${name}`)),
    searchParam: filterSupported(listParameterNames(type))
      .filter(name => hasSupportedParts(type, name))
      .map(name => buildSearchParam(type, name))
  })
}

/** HAPI supports no composite with one of these, although it states them all; other datastores may. */
const unsupportedParts = ['number', 'reference'] as const

function hasSupportedParts (type: string, name: string): boolean {
  const { parts = [] } = findSearchParameter(type, name)!
  return !unsupportedParts.some(kind => parts.includes(kind))
}

function buildSearchParam (type: string, name: string) {
  return { name, type: findSearchParameter(type, name)!.kind }
}
