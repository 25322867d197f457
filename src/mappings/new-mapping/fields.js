/** Converts the elements of an R4 type to declarations of fields, where a datatype fits. */
import { listRequiredCodes, listElements, listSearchParameters, listTypes } from './definitions.js'

const mapToFile = file => names => Object.fromEntries(names.map(name => [name, `../datatypes/${file}.js`]))

/** The file of each datatype and element that a field may be declared with. */
const files = {
  ...mapToFile('primitives')([
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
  ...mapToFile('concept')(['concept', 'coding']),
  ...mapToFile('complex')(['period', 'attachment', 'address', 'identifier']),
  ...mapToFile('quantities')(['quantity', 'simpleQuantity', 'range', 'ratio', 'money']),
  ...mapToFile('reference')(['reference', 'anyReference']),
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
export function buildFields (type, path = type) {
  const results = listElements(type, path).map(element => ({
    element,
    fields:
      path === type
        ? (buildOwnFields(type, element) ?? buildElementFields(type, element))
        : buildElementFields(type, element).slice(0, 1)
  }))
  return {
    fields: withUniqueNames(results.flatMap(({ fields }) => fields)),
    missing: results.filter(({ fields }) => fields.length === 0).map(({ element }) => element)
  }
}

/** No two fields of one name: the second keeps the name of its element. */
function withUniqueNames (fields) {
  return fields.map((field, i) =>
    fields.slice(0, i).some(({ name }) => name === field.name) ? { ...field, name: `${field.element}Id` } : field
  )
}

/** Elements for which src/mappings/fields has a field of their own on a resource. */
function buildOwnFields (type, element) {
  const { name, isMany, isRequired } = element
  const shape = `${name}: ${listTypes(element)[0]?.code}${isMany ? '[]' : ''}`
  const createField = (called, datatype, { text, ...more }) => ({
    name: called,
    element: name,
    imports: [datatype],
    isRequired: false,
    declare: () => text,
    ...more
  })
  if (name === 'identifier') return [buildIdentifierField(type, createField, isMany)]
  if (shape === 'note: Annotation[]') return [createField('note', 'note', { text: "note('note')" })]
  if (shape === 'name: HumanName[]') {
    return ['firstName', 'lastName'].map(part =>
      createField(part, part, { text: `${part}(${isRequired ? '{ required: true }' : ''})`, isRequired })
    )
  }
  if (shape === 'telecom: ContactPoint[]' && !isRequired) {
    return ['phone', 'email'].map(system => createField(system, system, { text: `${system}('telecom')` }))
  }
  return undefined
}

/** The identifiers of a resource; a few types have them, and no search parameter for them. */
function buildIdentifierField (type, createField, isMany) {
  const isSearchable = listSearchParameters(type).some(([name]) => name === 'identifier')
  const [name, datatype] = isMany ? ['identifiers', 'identifiers'] : ['identifier', 'oneIdentifier']
  if (isSearchable) return createField(name, datatype, { text: `${datatype}()`, isCommon: true })
  return createField(name, 'identifier', {
    text: `identifier${isMany ? '.list' : ''}('identifier')`, isCommon: true
  })
}

/** The fields that show an element with a datatype: one for each type of a choice. */
function buildElementFields (type, element) {
  const isChoice = element.name.endsWith('[x]')
  const choice = element.name.slice(0, -3)
  return listTypes(element).flatMap(one => {
    const datatype = buildDatatype(type, element, one)
    if (datatype === undefined) return []
    const capital = one.code[0].toUpperCase() + one.code.slice(1)
    return [buildField(datatype, isChoice ? { ...element, name: choice + capital, choice } : element)]
  })
}

function buildField ({ text, imports, kind, targets, codes }, { name, choice, isRequired, isMany, path }) {
  const isTop = path.split('.').length === 2
  const options = [
    ...(isRequired ? ['required: true'] : []),
    ...(choice !== undefined && isTop ? [`choice: '${choice}'`] : [])
  ]
  return {
    name: targets === undefined ? name : toFieldName(name, targets, isMany),
    element: choice ?? name,
    isRequired,
    kind,
    codes,
    imports,
    declare: (more = []) =>
      `${text}${isMany ? '.list' : ''}('${name}'${[...options, ...more].length > 0 ? `, { ${[...options, ...more].join(', ')} }` : ''})`
  }
}

/** The subject of a record is its patient; R4 has several names for the element. */
function toFieldName (element, targets, isMany) {
  if (isMany) return `${element}Ids`
  return ['subject', 'patient'].includes(element) && targets.includes('Patient') ? 'patientId' : `${element}Id`
}

function buildDatatype (type, element, { code, targets }) {
  if (code === 'code') return buildCode(element)
  if (code === 'Reference') return buildReference(targets)
  if (code === 'BackboneElement') return element.isRequired ? buildStructure(type, element.path) : undefined
  const [name, kind] = datatypes[code] ?? []
  return name === undefined ? undefined : { text: name, imports: [name], kind }
}

function buildCode (element) {
  const codes = listRequiredCodes(element)
  if (codes === undefined) return { text: 'openCode', imports: ['openCode'], kind: 'token' }
  return { text: `code([${codes.map(quote).join(', ')}])`, imports: ['code'], kind: 'token', codes }
}

const quote = text => `'${text.replaceAll("'", "\\'")}'`

/** A bare id means the first type: a patient or else a practitioner, where those are allowed. */
function buildReference (targets) {
  if (targets.length === 0) return { text: 'anyReference', imports: ['anyReference'], kind: 'reference', targets }
  const first = ['Patient', 'Practitioner'].find(type => targets.includes(type)) ?? targets[0]
  const types = [first, ...targets.filter(type => type !== first)]
  const text = types.length === 1 ? quote(first) : `[${types.map(quote).join(', ')}]`
  return { text: `reference(${text})`, imports: ['reference'], kind: 'reference', targets: types }
}

/** A structure that R4 requires: without it no record would be valid. */
function buildStructure (type, path) {
  const { fields } = buildFields(type, path)
  const members = fields.map(({ name, declare }) => `${name}: ${declare()}`)
  return fields.length === 0
    ? undefined
    : {
        text: `backbone({ ${members.join(', ')} })`,
        imports: ['backbone', ...fields.flatMap(({ imports }) => imports)]
      }
}

/** The file of a datatype or element, as a mapping imports it. */
export const getFile = name => files[name]
