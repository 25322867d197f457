/**
 * Begins a resource that the contract does not have yet: writes its mapping from R4's definitions, registers it and
 * adds it to the contract of the tests. What it wrote compiles and keeps the laws; names and choices are yours.   npm
 * run new-mapping -- Flag [--path flags]
 */
import { distance } from 'fastest-levenshtein'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { resourceTypes, listRules } from './definitions.js'
import { buildFields } from './fields.js'
import { buildContractEntry, toVariableName, toPath, addToRegistry, formatSource } from './file.js'

const root = join(import.meta.dirname, '..', '..', '..')
const registryFile = 'src/mappings/registry.ts'
const contractFile = 'test/contract/resources.json'

const { type, path } = readArguments()
const { fields, missing } = buildFields(type)
const file = `src/mappings/resources/${path}.ts`
requireNewMapping()
writeFileSync(join(root, file), formatSource(type, path, fields))
editFile(registryFile, text => addToRegistry(text, path))
editFile(contractFile, text => JSON.stringify([...JSON.parse(text), buildContractEntry(type, path, fields)], null, 1))
console.log(formatReport())

function readArguments () {
  const { values, positionals: [type = ''] } = parseCommandLine()
  if (!resourceTypes.has(type)) {
    const [nearest] = [...resourceTypes.keys()].sort((a, b) => distance(type, a) - distance(type, b))
    exitWithError(
      type === ''
        ? 'Name a resource type of R4: npm run new-mapping -- Flag'
        : `R4 has no resource type with this name; did you mean ${nearest}?`
    )
  }
  const path = values.path ?? toPath(type)
  if (!/^[a-z]+(?:-[a-z]+)*$/.test(path)) {
    exitWithError('Write the path in lower case, with hyphens between its words: --path related-persons')
  }
  return { type, path }
}

function parseCommandLine () {
  try {
    return parseArgs({ options: { path: { type: 'string' } }, allowPositionals: true })
  } catch (error) {
    return exitWithError(error.message)
  }
}

function requireNewMapping () {
  const folder = join(root, 'src/mappings/resources')
  const known = readdirSync(folder).find(name => readFileSync(join(folder, name), 'utf8').includes(`mapping('${type}'`))
  if (known !== undefined) exitWithError(`${type} has its mapping already: src/mappings/resources/${known}`)
  if (existsSync(join(root, file))) exitWithError(`${file} is already there; choose another path with --path.`)
}

function editFile (name, edit) {
  const before = readFileSync(join(root, name), 'utf8')
  writeFileSync(join(root, name), edit(before))
}

function exitWithError (message) {
  console.error(message)
  process.exit(2)
}

function formatReport () {
  const required = missing.filter(({ isRequired }) => isRequired)
  const sections = [
    [
      `${type} is at /v1/${path} from the next build on. Written:`,
      [file, `${registryFile}: ${toVariableName(path)}`, `${contractFile}: ${path}`]
    ],
    [
      'R4 requires these, and src/mappings has no datatype for them; records are not valid without:',
      required.map(formatMissing)
    ],
    [
      'Not shown yet; what is stored there stays there:',
      missing.filter(({ isRequired }) => !isRequired).map(formatMissing)
    ],
    ['R4’s own rules; those on fields that you show belong above the mapping, passed as rules:', listRules(type)],
    ['Next: docs/how-to/add-a-resource.md', []]
  ]
  return sections
    .filter(([title, items]) => items.length > 0 || title.startsWith('Next'))
    .map(([title, items]) => [title, ...items.map(item => `  ${item}`)].join('\n'))
    .join('\n\n')
}

function formatMissing ({ path, type: types = [], contentReference }) {
  return `${path}: ${types.map(({ code }) => code).join(' or ') || `like ${contentReference.slice(1)}`}`
}
