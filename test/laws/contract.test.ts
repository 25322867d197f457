/** Every mapping has the fields and filters of the contract, under its names and no others. */
import fc from 'fast-check'
import { existsSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { deepEqual, type Element } from '../../src/mappings/core/element.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'
import { anySimple } from './arbitrary.js'
import { listParts } from './definitions.js'
import { createContext } from '../harness/create-context.js'

interface ContractField {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly default: unknown
  readonly readOnly: boolean
  readonly enum: readonly string[] | null
  readonly note: string
}

interface ContractGroup {
  readonly path: string
  readonly createOperation: string
  readonly fhirType: string
  readonly fields: readonly ContractField[]
  readonly filters: Readonly<Record<string, { readonly param: string | null, readonly type: string }>>
}

const copy = new URL('../contract/resources.json', import.meta.url)
const original = new URL('../../../shared/contract/resources.json', import.meta.url)
const contract: readonly ContractGroup[] = JSON.parse(readFileSync(copy, 'utf8'))
/** The groups that must exist. */
const requiredPaths = contract.map(group => group.path)

/**
 * Fields that the contract requires and R4 does not: clients of the service that the contract describes leave them out,
 * so they are optional here.
 */
const optionalHere = new Map([
  ['appointment-responses.actorId', 'participantType says who responds'],
  ['medication-knowledge.code', 'R4 allows knowledge about a medicine without a code']
])

/** Second names of filters, which are in the prose of the contract. */
const filterAliases: Readonly<Record<string, readonly string[]>> = { goals: ['status'] }

/** Fields that the copy has and the contract does not, and why. */
const additions: ReadonlyArray<{ readonly path: string, readonly field: string, readonly reason: string }> = [
  { path: 'claims', field: 'note', reason: 'clients send it, and R4 has a place for it in supportingInfo' },
  ...['practitioners', 'persons'].map(path => ({
    path, field: 'fullName', reason: 'other systems store a name as one text, which patients show like this'
  }))
]

/** Where the copy differs from the contract: one change of one member of a field, and why. */
interface Deviation {
  readonly path: string
  readonly field: string
  readonly changed: Partial<ContractField>
  readonly reason: string
}

const oneName = 'a person may have one name alone, and R4 requires neither; a rule requires at least one of the two'

const deviations: readonly Deviation[] = ['patients', 'practitioners', 'persons'].flatMap(path =>
  ['firstName', 'lastName'].map(field => ({ path, field, changed: { required: false }, reason: oneName })))

/** Filters that R4 has no search parameter for, or one that does not look at the field. */
const ownFilters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  practitioners: { specialty: 'token' },
  persons: { active: 'token' },
  'care-plans': { authorId: 'reference' },
  'charge-items': { status: 'token' },
  eobs: { use: 'token', outcome: 'token' },
  'device-use-statements': { status: 'token' },
  'medication-knowledge': { manufacturer: 'string' },
  'enrollment-requests': { insurerId: 'reference' },
  'enrollment-responses': { outcome: 'token' },
  'activity-definitions': { code: 'token', kind: 'token' },
  'risk-assessments': { status: 'token' },
  'imaging-studies': { modality: 'token' }
}

function withOwnFilters (groups: readonly ContractGroup[]): readonly ContractGroup[] {
  return groups.map(group => {
    const own = Object.entries(ownFilters[group.path] ?? {}).map(([name, type]) => [name, { param: null, type }])
    return { ...group, filters: { ...group.filters, ...Object.fromEntries(own) } }
  })
}

/** The contract with the deviations; each has to change something, so that none outlives its reason. */
function withDeviations (groups: readonly ContractGroup[]): readonly ContractGroup[] {
  return deviations.reduce((groups, { path, field, changed, reason }) => {
    const found = groups.find(group => group.path === path)?.fields.find(({ name }) => name === field)
    if (found === undefined) throw new Error(`the contract has no ${field} of ${path}: ${reason}`)
    const after = { ...found, ...changed }
    if (deepEqual(found, after)) throw new Error(`${field} of ${path} is no deviation: ${reason}`)
    return groups.map(group => group.path !== path
      ? group
      : {
          ...group,
          fields: group.fields.map(one => one === found ? after : one)
        })
  }, groups)
}

/** The copy without the added fields; each has to be in it, so that none outlives its reason. */
function withoutAdditions (groups: readonly ContractGroup[]): readonly ContractGroup[] {
  return additions.reduce((groups, { path, field, reason }) => groups.map(group => {
    if (group.path !== path) return group
    const fields = group.fields.filter(({ name }) => name !== field)
    if (fields.length === group.fields.length) throw new Error(`${field} of ${path} is no addition: ${reason}`)
    return { ...group, fields }
  }), groups)
}

t.test(
  'the copy of the contract is the contract, but for the named deviations',
  { skip: existsSync(original) ? false : 'the contract itself is not beside this checkout' },
  async t => {
    t.strictSame(
      withoutAdditions(contract),
      withOwnFilters(withDeviations(JSON.parse(readFileSync(original, 'utf8'))))
    )
  }
)

t.test('every required resource exists, and none that the contract does not have', async t => {
  const offered = mappings.map(mapping => mapping.path)
  t.strictSame(requiredPaths.filter(path => !offered.includes(path)), [], 'not offered')
  t.strictSame(offered.filter(path => !contract.some(group => group.path === path)), [], 'not in the contract')
  t.equal(new Set(offered).size, offered.length, 'each is offered once')
})

for (const group of contract) {
  const mapping = mappings.find(({ path }) => path === group.path)
  if (mapping === undefined) continue
  t.test(group.path, async t => {
    t.equal(mapping.type, group.fhirType)
    t.equal(mapping.operation, group.createOperation)

    t.test('has the fields of the contract and no others', async t => {
      const named = group.fields.map(field => field.name)
      const common = listIdentifierFields(mapping)
      t.strictSame([...named, ...common].filter(name => !Object.hasOwn(mapping.fields, name)), [], 'missing')
      t.strictSame(
        Object.keys(mapping.fields).filter(name => ![...named, ...common].includes(name) && !isMentioned(group, name)),
        [],
        'in addition'
      )
    })

    for (const field of group.fields) {
      const element = mapping.fields[field.name]
      if (element !== undefined) t.test(field.name, async t => checkField(t, mapping, field, element))
    }

    t.test('has the filters of the contract and no others', async t => {
      t.strictSame(Object.keys(group.filters).filter(name => mapping.filters[name] === undefined), [], 'missing')
      t.strictSame(
        Object.keys(mapping.filters).filter(
          name =>
            !Object.hasOwn(group.filters, name) &&
            !['identifier', ...(filterAliases[group.path] ?? [])].includes(name) &&
            !isMentioned(group, name)
        ),
        [],
        'in addition'
      )
      for (const [name, { param, type }] of Object.entries(group.filters)) {
        const filter = mapping.filters[name]
        if (filter === undefined) continue
        if (param !== null) t.equal(filter.param, param, `${name} searches by ${param}`)
        if (param !== null || type === 'date') {
          t.ok(toFilterKinds(name, type).includes(filter.kind), `${name} takes a ${type}, not a ${filter.kind}`)
        }
      }
    })
  })
}

function checkField (t: Test, mapping: Mapping, field: ContractField, element: Element): void {
  const { options } = element
  t.equal(options.required === true && options.default === undefined, isRequiredHere(mapping, field), 'required')
  t.equal(options.readOnly === true, field.readOnly, 'read-only')
  if (field.default !== null) {
    t.ok(hasDefault(mapping, field, element), `is ${field.default as string} when it is not sent`)
  }
  for (const code of field.enum ?? []) {
    t.strictSame(checkChange(mapping, { [field.name]: code }), [], `takes ${code}`)
    t.strictSame(element.read(element.write({}, code)), code, `shows ${code}`)
  }
}

const isRequiredHere = ({ path }: Mapping, { name, required }: ContractField): boolean =>
  required && !optionalHere.has(`${path}.${name}`)

t.test('the fields that are optional in spite of the contract are required by it', async t => {
  const required = contract.flatMap(({ path, fields }) =>
    fields.filter(field => field.required).map(({ name }) => `${path}.${name}`)
  )
  t.strictSame([...optionalHere.keys()].filter(name => !required.includes(name)), [])
})

/**
 * A default may depend on the other fields, so it counts when it is filled in with no other field or with all of them.
 */
function hasDefault (mapping: Mapping, field: ContractField, element: Element): boolean {
  const { [field.name]: _, ...everything } = fc
    .sample(anySimple(mapping), { numRuns: 50, seed: 4 })
    .reduce((all, one) => ({ ...all, ...one }))
  const filled = [{}, everything].map(sent => mapping.withDefaults(sent, createContext)[field.name])
  if (field.default === "the key's name") {
    return filled.some(value => JSON.stringify(value)?.includes(createContext.keyName))
  }
  const wanted = field.default === 'now' ? createContext.now : field.default
  return filled.some(value => value !== undefined && deepEqual(element.accept(value), element.accept(wanted)))
}

/** Common to all whose R4 type has identifiers. */
function listIdentifierFields ({ type }: Mapping): string[] {
  const part = listParts(type).find(({ name }) => name === 'identifier')
  return part === undefined ? [] : [part.many ? 'identifiers' : 'identifier']
}

/** Whether another field names this one as the alternative: `Code (or medicationId ref Medication)`. */
const isMentioned = ({ fields }: ContractGroup, name: string): boolean =>
  fields.some(({ type, note }) => new RegExp(`\\b${name}\\b`).test(`${type} ${note}`))

function toFilterKinds (name: string, type: string): readonly string[] {
  if (type === 'date') return [name.endsWith('From') ? 'from' : name.endsWith('To') ? 'until' : 'date']
  return type === 'token' ? ['token', 'boolean'] : [type]
}
