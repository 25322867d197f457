/** From the elements of an R4 type to the declarations of fields, as far as a datatype of the core fits. */
import { codesOf, elementsOf, searchParametersOf, typesOf } from './definitions.js'

const from = file => names => Object.fromEntries(names.map(name => [name, `../datatypes/${file}.js`]))

/** The file of each datatype and element that a field may be declared with. */
const files = {
  ...from('primitives')([
    'text',
    'uri',
    'base64',
    'boolean',
    'decimal',
    'integer',
    'unsignedInteger',
    'positiveInteger',
    'date',
    'dateTime',
    'instant',
    'time',
    'openCode'
  ]),
  ...from('concept')(['concept', 'coding']),
  ...from('complex')(['period', 'attachment', 'address', 'identifier']),
  ...from('quantities')(['quantity', 'simpleQuantity', 'range', 'ratio', 'money']),
  ...from('reference')(['reference', 'anyReference']),
  code: '../datatypes/code.js',
  identifiers: '../fields/identifiers.js',
  oneIdentifier: '../fields/identifiers.js',
  note: '../fields/note.js',
  phone: '../fields/telecom.js',
  email: '../fields/telecom.js',
  firstName: '../fields/human-name.js',
  lastName: '../fields/human-name.js',
  backbone: '../core/structure.js'
}

/** The datatype of the core for each type of R4, and the kind of search parameter that can look for it. */
const datatypes = {
  string: ['text', 'string'],
  markdown: ['text', 'string'],
  uri: ['uri', 'uri'],
  url: ['uri', 'uri'],
  canonical: ['uri', 'uri'],
  base64Binary: ['base64'],
  boolean: ['boolean', 'token'],
  decimal: ['decimal', 'number'],
  integer: ['integer', 'number'],
  unsignedInt: ['unsignedInteger', 'number'],
  positiveInt: ['positiveInteger', 'number'],
  date: ['date', 'date'],
  dateTime: ['dateTime', 'date'],
  instant: ['instant', 'date'],
  time: ['time'],
  CodeableConcept: ['concept', 'token'],
  Coding: ['coding', 'token'],
  Identifier: ['identifier', 'token'],
  Period: ['period', 'date'],
  Attachment: ['attachment'],
  Address: ['address', 'string'],
  Quantity: ['quantity', 'quantity'],
  SimpleQuantity: ['simpleQuantity', 'quantity'],
  Range: ['range'],
  Ratio: ['ratio'],
  Money: ['money', 'quantity']
}

/**
 * @typedef {object} Field one line of a mapping: its name, the R4 element, how it is declared, and what that imports
 */

/**
 * The fields of a type, or of one of its structures.
 * @returns {{ fields: Field[], missing: object[] }} `missing` are the elements that need a hand
 */
export function fieldsOf (type, path = type) {
  const results = elementsOf(type, path).map(element => ({
    element,
    fields: path === type ? (ownField(type, element) ?? alike(type, element)) : alike(type, element).slice(0, 1)
  }))
  return {
    fields: apart(results.flatMap(({ fields }) => fields)),
    missing: results.filter(({ fields }) => fields.length === 0).map(({ element }) => element)
  }
}

/** No two fields of one name: the second keeps the name of its element. */
function apart (fields) {
  return fields.map((field, i) =>
    fields.slice(0, i).some(({ name }) => name === field.name) ? { ...field, name: `${field.element}Id` } : field
  )
}

/** Elements for which the kit has a field of their own on a resource. */
function ownField (type, element) {
  const { name, isMany, isRequired } = element
  const shape = `${name}: ${typesOf(element)[0]?.code}${isMany ? '[]' : ''}`
  const field = (called, datatype, { text, ...more }) => ({
    name: called,
    element: name,
    imports: [datatype],
    isRequired: false,
    declare: () => text,
    ...more
  })
  if (name === 'identifier') return [identifierField(type, field, isMany)]
  if (shape === 'note: Annotation[]') return [field('note', 'note', { text: "note('note')" })]
  if (shape === 'name: HumanName[]') {
    return ['firstName', 'lastName'].map(part =>
      field(part, part, { text: `${part}(${isRequired ? '{ required: true }' : ''})`, isRequired })
    )
  }
  if (shape === 'telecom: ContactPoint[]' && !isRequired) {
    return ['phone', 'email'].map(system => field(system, system, { text: `${system}('telecom')` }))
  }
  return undefined
}

/** The identifiers of a resource; a few types have them, and no search parameter for them. */
function identifierField (type, field, isMany) {
  const isSearchable = searchParametersOf(type).some(([name]) => name === 'identifier')
  const [name, datatype] = isMany ? ['identifiers', 'identifiers'] : ['identifier', 'oneIdentifier']
  if (isSearchable) return field(name, datatype, { text: `${datatype}()`, isCommon: true })
  return field(name, 'identifier', {
    text: `identifier${isMany ? '.list' : ''}('identifier')`, isCommon: true
  })
}

/** The fields that show an element with a datatype: one for each type of a choice. */
function alike (type, element) {
  const isChoice = element.name.endsWith('[x]')
  const choice = element.name.slice(0, -3)
  return typesOf(element).flatMap(one => {
    const datatype = datatypeOf(type, element, one)
    if (datatype === undefined) return []
    const capital = one.code[0].toUpperCase() + one.code.slice(1)
    return [fieldWith(datatype, isChoice ? { ...element, name: choice + capital, choice } : element)]
  })
}

function fieldWith ({ text, imports, kind, targets, codes }, { name, choice, isRequired, isMany, path }) {
  const isTop = path.split('.').length === 2
  const given = [
    ...(isRequired ? ['required: true'] : []),
    ...(choice !== undefined && isTop ? [`choice: '${choice}'`] : [])
  ]
  return {
    name: targets === undefined ? name : nameOf(name, targets, isMany),
    element: choice ?? name,
    isRequired,
    kind,
    codes,
    imports,
    declare: (more = []) =>
      `${text}${isMany ? '.list' : ''}('${name}'${[...given, ...more].length > 0 ? `, { ${[...given, ...more].join(', ')} }` : ''})`
  }
}

/** Whom a record is about is its patient, whatever R4 calls the element. */
function nameOf (element, targets, isMany) {
  if (isMany) return `${element}Ids`
  return ['subject', 'patient'].includes(element) && targets.includes('Patient') ? 'patientId' : `${element}Id`
}

function datatypeOf (type, element, { code, targets }) {
  if (code === 'code') return codeOf(element)
  if (code === 'Reference') return referenceTo(targets)
  if (code === 'BackboneElement') return element.isRequired ? structureOf(type, element.path) : undefined
  const [name, kind] = datatypes[code] ?? []
  return name === undefined ? undefined : { text: name, imports: [name], kind }
}

function codeOf (element) {
  const codes = codesOf(element)
  if (codes === undefined) return { text: 'openCode', imports: ['openCode'], kind: 'token' }
  return { text: `code([${codes.map(quoted).join(', ')}])`, imports: ['code'], kind: 'token', codes }
}

const quoted = text => `'${text.replaceAll("'", "\\'")}'`

/** A bare id means the first type: a patient or else a practitioner, where those are allowed. */
function referenceTo (targets) {
  if (targets.length === 0) return { text: 'anyReference', imports: ['anyReference'], kind: 'reference', targets }
  const first = ['Patient', 'Practitioner'].find(type => targets.includes(type)) ?? targets[0]
  const types = [first, ...targets.filter(type => type !== first)]
  const text = types.length === 1 ? quoted(first) : `[${types.map(quoted).join(', ')}]`
  return { text: `reference(${text})`, imports: ['reference'], kind: 'reference', targets: types }
}

/** A structure that R4 requires: without it no record would be valid. */
function structureOf (type, path) {
  const { fields } = fieldsOf(type, path)
  const members = fields.map(({ name, declare }) => `${name}: ${declare()}`)
  return fields.length === 0
    ? undefined
    : {
        text: `backbone({ ${members.join(', ')} })`,
        imports: ['backbone', ...fields.flatMap(({ imports }) => imports)]
      }
}

/** The file of a datatype or element, as a mapping imports it. */
export const fileOf = name => files[name]
