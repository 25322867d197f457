import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse } from 'yaml'

/** The folder of the container files. */
export const docker = join(import.meta.dirname, '..', '..', 'docker')

/** The files that an operator passes to compose. */
export const composeFiles = ['compose.yaml', 'compose.scale.yaml']

/** A service of a compose file, with `extends` resolved. */
interface Service {
  readonly image?: string
  readonly extends?: { readonly file?: string, readonly service: string }
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly secrets?: ReadonlyArray<string | { readonly source: string, readonly target: string }>
  readonly networks?: readonly string[]
  readonly ports?: readonly string[]
}

interface Compose {
  readonly include?: readonly string[]
  readonly services: Readonly<Record<string, Service>>
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>
  readonly volumes?: Readonly<Record<string, unknown>>
  readonly networks?: Readonly<Record<string, unknown>>
}

/** A compose file together with those that it includes. */
export function readCompose (file: string): Compose {
  const own = parse(readFileSync(join(docker, file), 'utf8'), { merge: true }) as Compose
  return [...(own.include ?? []).map(readCompose), own].reduce((before, { services, secrets, volumes, networks }) => ({
    services: { ...before.services, ...services },
    secrets: { ...before.secrets, ...secrets },
    volumes: { ...before.volumes, ...volumes },
    networks: { ...before.networks, ...networks }
  }))
}

/** Services whose image is ours. */
export function findOwnServices ({ services }: Compose): Array<[name: string, service: Service]> {
  return Object.entries(services).filter(([, { extends: base }]) => base?.service === 'clinigate')
}

/** The paths on this machine of the containers' paths. */
type Replacements = Readonly<Record<string, string>>

/**
 * The environment of a container of ours for a process on this machine: its variables and its configuration file with
 * every path replaced, longer ones first.
 */
export function toLocalEnvironment (
  t: Test,
  { environment = {}, volumes = [] }: Service,
  replacements: Replacements
): Record<string, string> {
  const folder = createTemporaryFolder(t)
  const config = volumes.map(volume => volume.split(':')).find(([, target]) => target === environment.CLINIGATE_CONFIG)
  if (config === undefined) throw new Error('its configuration file is not among its volumes')
  const file = join(folder, 'config.json')
  writeFileSync(file, applyReplacements(readFileSync(join(docker, config[0]!), 'utf8'), replacements))
  const variables = Object.entries(environment).map(([name, value]) => [name, applyReplacements(value, replacements)])
  return { ...Object.fromEntries(variables), CLINIGATE_CONFIG: file }
}

function applyReplacements (text: string, replacements: Replacements): string {
  const names = Object.keys(replacements).sort((a, b) => b.length - a.length)
  // A variable of the operator, as compose reads it: the text after `:-` where it is not set.
  return names.reduce((sofar, name) => sofar.replaceAll(name, replacements[name]!), text.replace(/\$\{\w+:-([^}]*)\}/g, '$1'))
}

/** A folder that goes with the test. */
export function createTemporaryFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-docker-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'secrets'))
  return folder
}
