import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { resourceTypes } from '../../src/mappings/new-mapping/definitions.js'
import { buildFields } from '../../src/mappings/new-mapping/fields.js'
import { toVariableName, toPath, addToRegistry, formatSource } from '../../src/mappings/new-mapping/file.js'
import { mappings } from '../../src/mappings/registry.js'
import { root } from '../e2e/document.js'

const open: string[] = [...resourceTypes.keys()].filter(type => !mappings.some(mapping => mapping.type === type))

/** The compiler's output for source files that are in no folder yet. */
function findCompilerErrors (sources: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const host = ts.createCompilerHost({ ...options, noEmit: true, incremental: false })
  const { readFile, fileExists } = host
  host.readFile = file => sources.get(file) ?? readFile(file)
  host.fileExists = file => sources.has(file) || fileExists(file)
  const program = ts.createProgram(
    [...sources.keys()],
    { ...options, noEmit: true, incremental: false, tsBuildInfoFile: undefined },
    host
  )
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}

t.test('a new mapping for any R4 type without one compiles', async t => {
  t.ok(open.length > 0)
  const sources = new Map(
    open.map(type => [
      join(root, 'src/mappings/resources', `${toPath(type)}.ts`),
      formatSource(type, toPath(type), buildFields(type).fields)
    ])
  )
  t.equal(sources.size, open.length, 'each in a file of its own')
  t.strictSame(findCompilerErrors(sources), [])
})

t.test('it shows every required element of R4, except for two types for whose structures the kit has no datatype', async t => {
  const lacking = open.filter(type => buildFields(type).missing.some(({ isRequired }: any) => isRequired))
  t.strictSame(lacking, ['EventDefinition', 'ImplementationGuide'].filter(type => open.includes(type)))
})

t.test('it is in the registry once, its import in order', async t => {
  const registry = readFileSync(join(root, 'src/mappings/registry.ts'), 'utf8')
  const lines = addToRegistry(registry, 'begun-things').split('\n')
  t.strictSame(
    lines.filter((line: string) => line.startsWith('import')),
    lines
      .filter((line: string) => line.startsWith('import'))
      .toSorted((a: string, b: string) => (a.split("'")[1]! < b.split("'")[1]! ? -1 : 1))
  )
  t.strictSame(
    lines.filter((line: string) => line.includes(toVariableName('begun-things'))),
    ["import { begunThings } from './resources/begun-things.js'", '  begunThings']
  )
})

t.test(
  'a type that R4 does not know, or that has its mapping, is rejected with what to do, and nothing is written',
  async t => {
    const registry = readFileSync(join(root, 'src/mappings/registry.ts'), 'utf8')
    const cases: Array<[RegExp, ...string[]]> = [
      [/Name a resource type of R4/],
      [/no resource type with this name; did you mean Procedure\?/, 'Procedur'],
      [/no resource type/, 'Bundle'],
      [/Patient has its mapping already: src\/mappings\/resources\/patients\.ts/, 'Patient'],
      [/already there; choose another path/, open[0]!, '--path', 'patients'],
      [/lower case, with hyphens/, open[0]!, '--path', '../flags'],
      [/Unknown option/, open[0]!, '--pth', 'flags']
    ]
    for (const [message, ...args] of cases) {
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(root, 'src/mappings/new-mapping/command.js'), ...args],
        { encoding: 'utf8' }
      )
      t.equal(status, 2, args.join(' '))
      t.match(stderr, message)
    }
    t.equal(readFileSync(join(root, 'src/mappings/registry.ts'), 'utf8'), registry)
  }
)
