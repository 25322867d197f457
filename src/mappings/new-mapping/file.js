/** The text of a mapping file, and of the lines that register it. */
import { fileOf } from './fields.js'
import { resourceTypes, searchParametersOf } from './definitions.js'

/** `RelatedPerson` → `related-persons`. */
export function pathOf (type) {
  const words = type.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()
  if (/[^aeiou]y$/.test(words)) return words.replace(/y$/, 'ies')
  return /(?:s|x|ch|sh)$/.test(words) ? `${words}es` : `${words}s`
}

/** `related-persons` → `relatedPersons`. */
export const nameOf = path => path.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())

/** What R4 says a resource is, as a sentence. */
const aboutOf = type =>
  `${resourceTypes.get(type).snapshot.element[0].short.replaceAll("'", '’').trim().replace(/\.$/, '')}.`

/**
 * The filters of a type: for each field the search parameter that looks at its element alone, and one pair for its
 * dates.
 */
function filtersOf (type, fields) {
  const parameters = searchParametersOf(type)
  const exactly = ({ element, kind }) =>
    parameters.filter(
      ([, of, expression]) => of === kind && [`${type}.${element}`, `(${type}.${element})`].includes(expression)
    )
  const byField = fields.filter(({ kind }) => kind !== undefined && kind !== 'date').flatMap(field => {
    const [parameter] = exactly(field)
    return parameter === undefined ? [] : [[field.name, parameter]]
  })
  const dates = fields.filter(({ kind }) => kind === 'date').flatMap(field => exactly(field).map(([name]) => name))
  return { byField: new Map(byField), date: dates.includes('date') ? 'date' : dates[0] }
}

/** The source of a mapping. */
export function sourceOf (type, path, fields) {
  const { byField, date } = filtersOf(type, fields)
  const lines = fields.map(field => {
    const parameter = byField.get(field.name)
    return `    ${field.name}: ${field.declare(parameter === undefined ? [] : [`filter: '${parameter[0]}'`])}`
  })
  const filters = date === undefined ? '' : `,\n  filters: { dateFrom: from('${date}'), dateTo: until('${date}') }`
  return `${importsOf(fields, date)}
/** http://hl7.org/fhir/R4/${type.toLowerCase()}.html */
export const ${nameOf(path)} = mapping('${type}', {
  path: '${path}',
  operation: 'create${type}',
  about: '${aboutOf(type)}',
  fields: {
${lines.join(',\n')}
  }${filters}
})
`
}

function importsOf (fields, date) {
  const names = new Map([['../core/mapping.js', new Set(['mapping'])]])
  if (date !== undefined) names.set('../core/filter.js', new Set(['from', 'until']))
  for (const name of fields.flatMap(({ imports }) => imports)) {
    names.set(fileOf(name), (names.get(fileOf(name)) ?? new Set()).add(name))
  }
  const lines = [...names].map(([file, names]) => [file, `import { ${[...names].sort().join(', ')} } from '${file}'`])
  return lines.sort(([a], [b]) => a < b ? -1 : 1).map(([, line]) => `${line}\n`).join('')
}

/** The registry with one mapping more: its import in order, itself at the end. */
export function registered (registry, path) {
  const name = nameOf(path)
  const lines = registry.split('\n')
  const line = `import { ${name} } from './resources/${path}.js'`
  const imports = lines.filter(line => line.includes("from './resources/"))
  const next = imports.find(other => other.split("'")[1] > line.split("'")[1])
  const place = next === undefined ? lines.indexOf(imports.at(-1)) + 1 : lines.indexOf(next)
  return lines.toSpliced(place, 0, line).join('\n').replace(/(= \[[^\]]*?)\n\]/, `$1,\n  ${name}\n]`)
}

/** What the contract says of the new resource; clients rely on it from then on. */
export function contractOf (type, path, fields) {
  const { byField, date } = filtersOf(type, fields)
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
