import { execFile } from 'node:child_process'
import {
  cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { readBlock, readCommands, root } from '../e2e/document.js'
import { startProcess, type StartedGateway } from '../e2e/process.js'

const run = promisify(execFile)
const page = 'docs/how-to/add-a-resource.md'
// `dist` is what `npm ci` built.
const parts = [
  'src',
  'dist',
  'test',
  'docs',
  'config',
  'bench',
  'package.json',
  'tsconfig.json',
  'eslint.config.js',
  'knip.json',
  '.taprc',
  '.gitignore',
  'README.md',
  'CHANGELOG.md'
]

// A build, the linter and the laws, on a machine that is busy with other tests.
t.setTimeout(900_000)

/** The project as just cloned and installed. */
function copyOfProject (t: Test): string {
  const copy = mkdtempSync(join(tmpdir(), 'clinigate-how-to-'))
  t.after(() => rmSync(copy, { recursive: true, force: true }))
  for (const part of parts) {
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      filter: source => !/\/(?:target|\.tap)$/.test(source)
    })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  // The linter caches its findings of a file by its whole path.
  const linted = join(root, '.eslintcache')
  if (existsSync(linted)) {
    writeFileSync(join(copy, '.eslintcache'), readFileSync(linted, 'utf8').replaceAll(`"${root}/`, `"${copy}/`))
  }
  for (const file of readdirSync(join(copy, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (basename(file) !== '.tsbuildinfo') continue
    // The compiler finds the packages where the link leads; otherwise it would check all files again.
    const path = join(copy, 'dist', file)
    const packages = relative(realpathSync(dirname(path)), realpathSync(join(root, 'node_modules')))
    edit(path, known => known.replace(/"(?:\.\.\/)+node_modules\//g, `"${packages}/`))
  }
  return copy
}

t.test(
  'the steps of "Add a resource in ten minutes" give a resource that passes the laws and that the gateway serves',
  async t => {
    const cwd = copyOfProject(t)
    // By its environment tap recognizes a process that another tap started, and would count its tests among these.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('TAP') && name !== 'NODE_OPTIONS')
    )
    const runShell = async (command: string) =>
      (
        await run('bash', ['--norc', '-c', `${command} 2>&1`], { cwd, env, maxBuffer: 2 ** 26 }).catch(error => {
          throw new Error(`${command} failed: ${error.stdout}`)
        })
      ).stdout

    for (const command of readCommands(page, 'sh begin')) {
      t.match(await runShell(command), /src\/mappings\/resources\/flags\.ts[^]*registry\.ts: flags/)
    }
    edit(join(cwd, 'src/mappings/resources/flags.ts'), text =>
      applyPatch(text, readBlock(page, 'diff src/mappings/resources/flags.ts'))
    )
    edit(join(cwd, 'test/contract/resources.json'), text =>
      updateContract(text, JSON.parse(readBlock(page, 'json test/contract/resources.json')))
    )

    for (const command of readCommands(page, 'sh check')) await t.resolves(runShell(command), command)

    const [start, ...others] = readCommands(page, 'sh start')
    t.strictSame([start, others], ['npm start', []])
    const gateway = await startProcess(t, {
      command: ['npm', 'start'],
      cwd,
      environment: env as Record<string, string>
    })
    await tryOut(t, gateway)
  }
)

async function tryOut (t: Test, { url, key }: StartedGateway): Promise<void> {
  const env: Record<string, string | undefined> = { ...process.env, KEY: key, URL: url }
  const responses: Array<{ status: string | undefined, data: any }> = []
  for (const command of readCommands(page, 'sh try')) {
    const [, name] = /^export (PATIENT|ID)=/.exec(command) ?? []
    if (name !== undefined) env[name] = responses.at(-1)?.data.id
    if (!command.startsWith('curl')) continue
    const { stdout } = await run('bash', ['--norc', '-c', command], { env })
    responses.push({
      status: /^HTTP\/1\.1 (\d{3})/.exec(stdout)?.[1],
      data: JSON.parse(stdout.slice(stdout.indexOf('{'))).data
    })
  }
  t.strictSame(responses.map(({ status }) => status), ['201', '201', '200', '200'])
  const flag = { resourceType: 'Flag', status: 'active', code: 'No latex gloves', patientId: env.PATIENT }
  t.match(responses[1]!.data, flag)
  t.match(responses[2]!.data, { ...flag, id: env.ID })
  t.match(responses[3]!.data, { total: 1, data: [{ id: env.ID }] })
}

function edit (file: string, change: (text: string) => string): void {
  const before = readFileSync(file, 'utf8')
  writeFileSync(file, change(before))
}

/** The text with the line that begins with - replaced by the one that begins with +. */
function applyPatch (text: string, diff: string): string {
  const [removed, added] = ['-', '+'].map(sign => diff.split('\n').find(line => line.startsWith(sign))!.slice(1))
  if (!text.includes(`${removed}\n`)) throw new Error(`the file has no line ${removed}`)
  return text.replace(`${removed}\n`, () => `${added}\n`)
}

/** The contract with the field that the page adds. */
function updateContract (text: string, { path, field, ...properties }: any): string {
  const contract = JSON.parse(text)
  const found = contract.find((group: any) => group.path === path)?.fields.find((one: any) => one.name === field)
  if (found === undefined) throw new Error(`the contract has no ${field} of ${path}`)
  Object.assign(found, properties)
  return JSON.stringify(contract, null, 1)
}
