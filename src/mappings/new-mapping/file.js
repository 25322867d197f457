/** The text of a mapping file, and of the lines that register it. */
import { getFile } from './fields.js'
import { resourceTypes, listSearchParameters } from './definitions.js'

/** `RelatedPerson` → `related-persons`. */
export function toPath (type) {
  const words = type.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()
  if (/[^aeiou]y$/.test(words)) return words.replace(/y$/, 'ies')
  return /(?:s|x|ch|sh)$/.test(words) ? `${words}es` : `${words}s`
}

/** `related-persons` → `relatedPersons`. */
export const toVariableName = path => path.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())

/** R4's short definition of a resource, as a sentence. */
const formatAbout = type =>
  `${resourceTypes.get(type).snapshot.element[0].short.replaceAll("'", '’').trim().replace(/\.$/, '')}.`

/**
 * The filters of a type: for each field the search parameter that searches only its element, and one pair for its
 * dates.
 */
function buildFilters (type, fields) {
  const parameters = listSearchParameters(type)
  const findExactParameters = ({ element, kind }) =>
    parameters.filter(
      ([, of, expression]) => of === kind && [`${type}.${element}`, `(${type}.${element})`].includes(expression)
    )
  const byField = fields.filter(({ kind }) => kind !== undefined && kind !== 'date').flatMap(field => {
    const [parameter] = findExactParameters(field)
    return parameter === undefined ? [] : [[field.name, parameter]]
  })
  const dates = fields
    .filter(({ kind }) => kind === 'date')
    .flatMap(field => findExactParameters(field).map(([name]) => name))
  return { byField: new Map(byField), date: dates.includes('date') ? 'date' : dates[0] }
}

/** The source of a mapping. */
export function formatSource (type, path, fields) {
  const { byField, date } = buildFilters(type, fields)
  const lines = fields.map(field => {
    const parameter = byField.get(field.name)
    return `    ${field.name}: ${field.declare(parameter === undefined ? [] : [`filter: '${parameter[0]}'`])}`
  })
  const filters = date === undefined ? '' : `,\n  filters: { dateFrom: from('${date}'), dateTo: until('${date}') }`
  return `${formatImports(fields, date)}
/** http://hl7.org/fhir/R4/${type.toLowerCase()}.html */
export const ${toVariableName(path)} = mapping('${type}', {
  path: '${path}',
  operation: 'create${type}',
  about: '${formatAbout(type)}',
  fields: {
${lines.join(',\n')}
  }${filters}
})
`
}

function formatImports (fields, date) {
  const names = new Map([['../core/mapping.js', new Set(['mapping'])]])
  if (date !== undefined) names.set('../core/filter.js', new Set(['from', 'until']))
  for (const name of fields.flatMap(({ imports }) => imports)) {
    names.set(getFile(name), (names.get(getFile(name)) ?? new Set()).add(name))
  }
  const lines = [...names].map(([file, names]) => [file, `import { ${[...names].sort().join(', ')} } from '${file}'`])
  return lines.sort(([a], [b]) => a < b ? -1 : 1).map(([, line]) => `${line}\n`).join('')
}

/** The registry with one mapping more: its import in order, itself at the end. */
export function addToRegistry (registry, path) {
  const name = toVariableName(path)
  const lines = registry.split('\n')
  const line = `import { ${name} } from './resources/${path}.js'`
  const imports = lines.filter(line => line.includes("from './resources/"))
  const next = imports.find(other => other.split("'")[1] > line.split("'")[1])
  const index = next === undefined ? lines.indexOf(imports.at(-1)) + 1 : lines.indexOf(next)
  return lines.toSpliced(index, 0, line).join('\n').replace(/(= \[[^\]]*?)\n\]/, `$1,\n  ${name}\n]`)
}

/** The entry of the new resource in the contract; clients rely on it from then on. */
export function buildContractEntry (type, path, fields) {
  const { byField, date } = buildFilters(type, fields)
  const own = fields.filter(({ isCommon }) => isCommon !== true)
  const dates = date === undefined ? [] : ['dateFrom', 'dateTo'].map(name => [name, { param: date, type: 'date' }])
  return {
    path,
    tier: 'extra',
    createOperation: `create${type}`,
    fhirType: type,
    fields: own.map(({ name, element, kind = 'any', isRequired, codes = null }) => ({
      name,
      type: codes === null ? kind : 'enum',
      path: [`${type}.${element}`],
      required: isRequired,
      default: null,
      readOnly: false,
      enum: codes,
      note: ''
    })),
    filters: Object.fromEntries([
      ...[...byField].map(([name, [param, kind]]) => [name, { param, type: kind }]),
      ...dates
    ])
  }
}
