import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { buildWhenNeeded } from '../hapi/maven.js'
import { runCompose, runDocker, run } from './engine.js'

const root = join(import.meta.dirname, '..', '..')
const folder = join(import.meta.dirname, 'stand-ins')
const hapi = join(root, 'test', 'hapi', 'target')
const suite = 'trixie'
const label = 'clinigate.stand-in'

/** File systems of Debian's packages, on which the stand-ins are based. */
const roots = {
  debian: {
    variant: 'minbase',
    packages: ['postgresql', 'redis-server', 'haproxy', 'openjdk-21-jre-headless', 'wget'],
    hooks: [
      // Its postinst would create a cluster of its own.
      '--setup-hook=mkdir -p "$1/etc/postgresql-common/createcluster.d"; ' +
        'echo "create_main_cluster = false" > "$1/etc/postgresql-common/createcluster.d/no-main-cluster.conf"'
    ]
  },
  distroless: {
    variant: 'extract',
    packages: ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6', 'netbase', 'tzdata'],
    hooks: ['--customize-hook=rm -rf "$1/var/lib/apt" "$1/var/lib/dpkg"']
  }
} as const

/** The target of stand-ins/Dockerfile for each repository, and its content. */
const targets: Readonly<Record<string, readonly [target: string, content: string]>> = {
  node: ['node', `Debian ${suite}, Node and npm of this machine`],
  'gcr.io/distroless/nodejs24-debian13': ['distroless', `the C libraries of Debian ${suite}, Node of this machine`],
  'hapiproject/hapi': ['hapi', 'the HAPI FHIR server of the tests'],
  postgres: ['postgres', 'postgresql-17'],
  redis: ['redis', 'redis-server'],
  haproxy: ['haproxy', 'haproxy']
}

/**
 * Makes the images that docker/ names but that the engine lacks, from packages, under their names; images of an earlier
 * run are reused while their parts are the same. Images that were pulled are used unchanged.
 * @throws {Error} that names the missing program
 */
export async function makeStandIns (log: (line: string) => void): Promise<void> {
  await buildWhenNeeded({ log })
  const wanted = hashOfParts()
  const names = listImages()
  const states = await Promise.all(names.map(async name => ({ name, made: await labelOf(name) })))
  const lacking = states.filter(({ made }) => made !== 'none' && made !== wanted).map(({ name }) => name)
  if (lacking.length > 0) {
    for (const name of Object.keys(roots)) await makeRoot(name as keyof typeof roots, log)
    log(`Making stand-ins for ${lacking.join(', ')}`)
    await build(lacking, wanted)
  }
  const versions = states.some(({ made }) => made !== 'none') ? await readPackageVersions() : {}
  for (const { name, made } of states) {
    const [, content] = getTarget(name)
    log(made === 'none' ? `${name} is the image itself` : `${name} is a stand-in: ${versions[content] ?? content}`)
  }
}

/** The images that the Dockerfile builds on and that the compose files run. */
function listImages (): string[] {
  const docker = join(root, 'docker')
  const bases = [...readFileSync(join(docker, 'Dockerfile'), 'utf8').matchAll(/^FROM (\S+)/gm)].map(([, name]) => name!)
  const run = readdirSync(docker).filter(file => file.endsWith('.yaml')).flatMap(file => {
    const { services } = parse(readFileSync(join(docker, file), 'utf8'), { merge: true }) as {
      services: Record<string, { image?: string }>
    }
    return Object.values(services).flatMap(({ image }) => image === undefined || image === 'clinigate' ? [] : [image])
  })
  return [...new Set([...bases, ...run])]
}

function getTarget (name: string): readonly [target: string, content: string] {
  const found = targets[name.slice(0, name.lastIndexOf(':'))]
  if (found === undefined) throw new Error(`test/containers/stand-ins.ts has no stand-in for ${name}`)
  return found
}

/** @returns `none` for an image without the label, undefined where there is no image */
async function labelOf (name: string): Promise<string | undefined> {
  const format = `{{with index .Config.Labels "${label}"}}{{.}}{{else}}none{{end}}`
  return await runDocker('image', 'inspect', '--format', format, name).then(text => text.trim(), () => undefined)
}

/** Changes with every input of the stand-ins. */
function hashOfParts (): string {
  const parts = [
    JSON.stringify([roots, suite, process.version]),
    ...readdirSync(folder).sort().map(file => readFileSync(join(folder, file), 'utf8')),
    ...[join(root, 'test', 'hapi', 'pom.xml'), ...listHapiSources()].map(file => readFileSync(file, 'utf8'))
  ]
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16)
}

function listHapiSources (): string[] {
  const src = join(root, 'test', 'hapi', 'src')
  return readdirSync(src, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}

/** Makes a file system with mmdebstrap, which uses apt's settings of this machine and leaves none of them in it. */
async function makeRoot (name: keyof typeof roots, log: (line: string) => void): Promise<void> {
  const { variant, packages, hooks } = roots[name]
  const image = `clinigate-stand-in/${name}`
  const hash = createHash('sha256').update(JSON.stringify([suite, roots[name]])).digest('hex').slice(0, 16)
  if (await labelOf(image) === hash) return
  log(`Fetching Debian's packages for ${image}; this takes some minutes`)
  const temporary = mkdtempSync(join(tmpdir(), 'clinigate-stand-in-'))
  try {
    const tar = join(temporary, 'root.tar')
    await run([
      'mmdebstrap', `--variant=${variant}`, `--include=${packages.join(',')}`, ...hooks,
      // Mirrors may be older than their stated validity; signatures are checked all the same.
      '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Check-Date "false"',
      '--customize-hook=rm -rf "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/resolv.conf" "$1/etc/hostname"',
      suite, tar, 'http://deb.debian.org/debian'
    ]).catch(error => {
      if (!String(error.message).includes('ENOENT')) throw error
      throw new Error('there is no mmdebstrap to make base images with (Debian: apt-get install mmdebstrap)')
    })
    await runDocker('import', '--change', `LABEL ${label}=${hash}`, tar, image)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Builds the stand-ins by Compose, which has a builder of its own where the engine's command has none. */
async function build (names: readonly string[], hash: string): Promise<void> {
  const context = mkdtempSync(join(tmpdir(), 'clinigate-stand-ins-'))
  try {
    await fillContext(context)
    const services = Object.fromEntries(names.map(name => {
      const [target] = getTarget(name)
      return [target, { image: name, build: { context, target, labels: { [label]: hash } } }]
    }))
    await runCompose(['--project-name', 'clinigate-stand-ins', '--file', '-', 'build'], {
      input: JSON.stringify({ services })
    })
  } finally {
    rmSync(context, { recursive: true, force: true })
  }
}

async function fillContext (context: string): Promise<void> {
  cpSync(folder, context, { recursive: true })
  for (const made of ['home', 'node', 'hapi']) mkdirSync(join(context, made))
  copyFileSync(process.execPath, join(context, 'node', 'node'))
  // The npm that runs this.
  const npm = process.env.npm_execpath
  if (npm === undefined) throw new Error('run it by npm: npm run containers')
  cpSync(dirname(dirname(npm)), join(context, 'node', 'npm'), { recursive: true, dereference: true })
  copyFileSync(join(hapi, 'hapi-launcher.jar'), join(context, 'hapi', 'hapi-launcher.jar'))
  mkdirSync(join(context, 'hapi', 'lib'))
  for (const jar of readdirSync(join(hapi, 'lib'))) linkOrCopy(join(hapi, 'lib', jar), join(context, 'hapi', 'lib', jar))
  const classes = [join(hapi, 'hapi-launcher.jar'), join(hapi, 'lib', '*')].join(':')
  await run(['javac', '--release', '17', '-d', join(context, 'hapi'), '-cp', classes, join(folder, 'Hapi.java')])
}

/** A second name for a file, or a copy of it where the temporary folder is on another disk. */
function linkOrCopy (from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}

async function readPackageVersions (): Promise<Record<string, string>> {
  const names = Object.values(targets).map(([, content]) => content).filter(content => !content.includes(' '))
  const format = ['Package', 'Version'].map(field => `\${${field}}`).join(' ') + '\n'
  const listed = await runDocker('run', '--rm', 'clinigate-stand-in/debian', 'dpkg-query', '-W', '-f', format, ...names)
  return Object.fromEntries(listed.trim().split('\n').map(line => [line.split(' ')[0]!, `${line} of Debian`]))
}
