import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DCLinter } from 'dclint'
import { validate, ValidationSeverity } from 'dockerfile-utils'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config/load.js'
import {
  composeFiles, docker, toLocalEnvironment, findOwnServices, readCompose, createTemporaryFolder
} from './compose.js'

t.test('the Dockerfile has no mistake, and its last stage runs without privileges', async t => {
  const text = readFileSync(join(docker, 'Dockerfile'), 'utf8')
  t.strictSame(validate(text, { instructionJSONInSingleQuotes: ValidationSeverity.ERROR }), [])
  t.match(text.slice(text.lastIndexOf('\nFROM ')), /^\nFROM \S+:nonroot\n/)
})

t.test(
  'the image and `npm start` leave V8 its own sizes, and the page on operation names those for bulk jobs',
  async t => {
    const { scripts } = JSON.parse(readFileSync(join(docker, '..', 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const image = readFileSync(join(docker, 'Dockerfile'), 'utf8')
    t.equal(scripts.start, 'node dist/main.js')
    t.match(image, /^ENTRYPOINT \["\/nodejs\/bin\/node", "dist\/operator\/cli\/index\.js"\]$/m)
    const malloc = /^ENV (MALLOC_\w+=\d+)$/m.exec(image)?.[1]
    const page = readFileSync(join(docker, '..', 'docs/operate.md'), 'utf8')
    t.ok(page.includes(`\`${malloc} node --max-semi-space-size=8 --heap-growing-percent=30\``))
  }
)

t.test('the Dockerfile copies exactly the files of the build context', async t => {
  const copied = [...readFileSync(join(docker, 'Dockerfile'), 'utf8').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, names]) => names!.split(' ')
  )
  const seen = readFileSync(join(docker, '..', '.dockerignore'), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('!'))
    .map(line => line.slice(1))
  t.strictSame(copied.toSorted(), seen.toSorted())
  for (const name of seen) t.ok(statSync(join(docker, '..', name)))
})

t.test('the compose files keep to the Compose Specification', async t => {
  t.strictSame(lintFolder(docker), [])
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, 'compose.yaml'), 'services:\n  one:\n    image: nothing:1\n    port: 80\n')
  t.match(lintFolder(folder), [/services\/one.*additional properties/], 'the linter sees what it should')
})

interface Linted {
  readonly filePath: string
  readonly messages: ReadonlyArray<{ readonly message: string; readonly line: number }>
}

function lintFolder (folder: string): string[] {
  const files = new DCLinter({ rules: taste }).lintFiles([folder], false) as readonly Linted[]
  return files.flatMap(({ filePath, messages }) =>
    messages.map(({ message, line }) => `${relative(folder, filePath)}:${line}: ${message}`)
  )
}

/** Rules of the linter that go beyond the specification, and are no mistake here. */
const taste = {
  'no-build-and-image': 0,
  'service-image-require-explicit-tag': 0,
  'require-project-name-field': 0,
  'service-keys-order': 0,
  'services-alphabetical-order': 0,
  'top-level-properties-order': 0,
  'no-quotes-in-volumes': 0
} as const

for (const file of composeFiles) {
  t.test(`${file}: every secret, volume, network and file that a service names exists`, async t => {
    const { services, secrets = {}, volumes = {}, networks = {} } = readCompose(file)
    const made = prepareSecrets(t)
    for (const { file } of Object.values(secrets)) {
      if (file !== './secrets/gateway-token') t.ok(made.names.includes(file.slice('./secrets/'.length)), file)
    }
    for (const [name, service] of Object.entries(services)) {
      for (const secret of service.secrets ?? []) {
        t.ok(Object.hasOwn(secrets, typeof secret === 'string' ? secret : secret.source), `${name}: a secret`)
      }
      for (const network of service.networks ?? []) t.ok(Object.hasOwn(networks, network), `${name}: ${network}`)
      for (const [source = ''] of (service.volumes ?? []).map(volume => volume.split(':'))) {
        if (source.startsWith('./')) t.ok(statSync(join(docker, source)).isFile(), `${name}: ${source}`)
        else t.ok(Object.hasOwn(volumes, source), `${name}: ${source}`)
      }
    }
  })

  t.test(`${file}: services with records are in a network without a way out, and only the front has a port`, async t => {
    const { services, networks = {} } = readCompose(file)
    t.match(networks.store, { internal: true })
    for (const name of ['hapi-test', 'hapi-live', 'postgres']) t.strictSame(services[name]!.networks, ['store'])
    const front = file === 'compose.yaml' ? 'clinigate' : 'proxy'
    t.strictSame(Object.keys(services).filter(name => services[name]!.ports !== undefined), [front])
  })

  t.test(`${file}: the gateway accepts each configuration unchanged`, async t => {
    const { folder } = prepareSecrets(t)
    const configured = findOwnServices(readCompose(file))
    t.not(configured.length, 0)
    for (const [name, service] of configured) {
      const config = loadConfig(toLocalEnvironment(t, service, { '/run/secrets': folder }))
      if (config.role === 'control') continue
      t.strictSame(
        [config.datastores.test?.url, config.datastores.live?.url],
        ['http://hapi-test:8080/fhir', 'http://hapi-live:8080/fhir'],
        name
      )
    }
  })
}

t.test('secrets are created once: existing ones stay', async t => {
  const { folder, make, names } = prepareSecrets(t)
  const read = () => names.map(name => readFileSync(join(folder, name), 'utf8'))
  const before = read()
  t.equal(new Set(before).size, before.length)
  make()
  t.strictSame(read(), before)
})

/** Runs the script that makes the secrets, in a folder of its own. */
function prepareSecrets (t: Test): {
  readonly folder: string
  readonly names: readonly string[]
  readonly make: () => void
} {
  const parent = createTemporaryFolder(t)
  const folder = join(parent, 'secrets')
  copyFileSync(join(docker, 'secrets.sh'), join(parent, 'secrets.sh'))
  const make = () => {
    execFileSync('sh', [join(parent, 'secrets.sh')])
  }
  make()
  const names = readdirSync(folder)
  // The control plane's secret for an operator.
  writeFileSync(join(folder, 'gateway-token'), 'cg_gateway_x')
  return { folder, names, make }
}
