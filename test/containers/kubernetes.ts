import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { root } from './build.js'
import { run } from './engine.js'

t.setTimeout(600_000)

const manifests = join(root, 'deploy', 'kubernetes')
/** Where the schemas are from: the API's own description, in the module of Kubernetes. */
const kubernetes = 'k8s.io/kubernetes@v1.34.2'
const kubeconform = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: any
  readonly data?: Readonly<Record<string, string>>
}

t.test('the manifests match the schemas of Kubernetes, and a misspelt field would be found', async t => {
  const folder = t.testdir({ 'wrong.yaml': readManifests().replace('readinessProbe:', 'readynessProbe:') })
  const schemas = join(folder, 'schemas')
  await writeSchemas(schemas)
  t.match(await validate(schemas, manifests), /Invalid: 0, Errors: 0, Skipped: 0/)
  await t.rejects(validate(schemas, join(folder, 'wrong.yaml')), { message: /readynessProbe/ })
})

t.test('only gateways and workers reach the datastores, and each pod gets only the secrets that it needs', async t => {
  const documents = parseAllDocuments(readManifests()).map(document => document.toJS() as Manifest)
  const policy = documents.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'datastore')!
  t.strictSame(policy.spec.policyTypes, ['Ingress'])
  t.strictSame(policy.spec.ingress, [{
    from: ['gateway', 'worker'].map(component => ({ podSelector: { matchLabels: buildLabels(component) } })),
    ports: [{ protocol: 'TCP', port: 8080 }]
  }])
  const pods = documents.filter(({ spec }) => spec?.template !== undefined)
  t.strictSame(pods.map(({ metadata }) => metadata.name).toSorted(), ['control', 'gateway', 'worker'])
  for (const { metadata: { name }, spec } of pods) requireHardenedPod(t, name, spec)
  t.notOk(documents.some(({ kind }) => kind === 'Secret'), 'no secret is in the files')
})

const buildLabels = (component: string): Record<string, string> =>
  ({ 'app.kubernetes.io/name': 'clinigate', 'app.kubernetes.io/component': component })

function requireHardenedPod (t: Test, name: string, { template }: any): void {
  const { spec, metadata } = template
  const { containers, securityContext, volumes } = spec
  t.strictSame(metadata.labels, buildLabels(name))
  t.match(securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }, name)
  t.equal(spec.automountServiceAccountToken, false)
  t.ok(spec.terminationGracePeriodSeconds >= 45)
  t.equal(containers.length, 1)
  const [{ securityContext: own, env, resources, ...probes }] = containers
  t.strictSame(own, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } })
  t.match(resources, { requests: { cpu: /./, memory: /./ }, limits: { memory: /./ } })
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) t.ok(probes[probe], `${name}: ${probe}`)
  t.strictSame(env.filter(({ name }: { name: string }) => /TOKEN|SECRET|PASSWORD|DATABASE_URL|REDIS_URL/.test(name)), [])
  const items = volumes.flatMap(({ secret }: any) => secret?.items ?? []).map(({ key }: { key: string }) => key)
  t.strictSame(items, secretsOf[name])
}

const secretsOf: Readonly<Record<string, readonly string[]>> = {
  control: ['control-database-url'],
  gateway: ['gateway-token', 'cursor', 'redis-url'],
  worker: ['gateway-token']
}

function readManifests (): string {
  return readdirSync(manifests).map(file => readFileSync(join(manifests, file), 'utf8')).join('\n---\n')
}

async function validate (schemas: string, path: string): Promise<string> {
  const schema = `${schemas}/{{.ResourceKind}}.json`
  const command = ['go', 'run', kubeconform, '-strict', '-summary', '-schema-location', schema, path]
  // It writes its errors to standard output.
  return await run(['sh', '-c', '"$@" 2>&1 || { "$@" >&2; exit 1; }', 'sh', ...command])
}

/**
 * Writes a schema for each kind, in place of those that kubeconform fetches: the API's definitions, without additional
 * fields.
 */
async function writeSchemas (folder: string): Promise<void> {
  const { Dir } = JSON.parse(await run(['go', 'mod', 'download', '-json', kubernetes])) as { Dir: string }
  const { definitions } = JSON.parse(readFileSync(join(Dir, 'api', 'openapi-spec', 'swagger.json'), 'utf8')) as {
    definitions: Record<string, any>
  }
  for (const definition of Object.values(definitions)) {
    if (definition.properties !== undefined) definition.additionalProperties = false
  }
  // These are written as a number or as text.
  definitions['io.k8s.apimachinery.pkg.util.intstr.IntOrString'] = { type: ['string', 'integer'] }
  definitions['io.k8s.apimachinery.pkg.api.resource.Quantity'] = { type: ['string', 'number'] }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '_definitions.json'), JSON.stringify({ definitions }))
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { kind, group, version } of definition['x-kubernetes-group-version-kind'] ?? []) {
      if (!name.endsWith(`.${version}.${kind}`) || version !== 'v1' || group === 'events.k8s.io') continue
      const schema = { $ref: `_definitions.json#/definitions/${name}` }
      writeFileSync(join(folder, `${String(kind).toLowerCase()}.json`), JSON.stringify(schema))
    }
  }
}
