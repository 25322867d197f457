import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { runCompose, run } from './engine.js'

/** The root of the project. */
export const root = join(import.meta.dirname, '..', '..')

/**
 * Builds the image from docker/Dockerfile as docker/compose.yaml says. The npm settings of this machine are passed to
 * the build as the secret that the Dockerfile takes, through a variable and no file.
 */
export async function buildImage (): Promise<void> {
  const override = {
    services: { clinigate: { build: { network: 'host', secrets: ['npmrc'] } } },
    secrets: { npmrc: { environment: 'TEST_NPMRC' } }
  }
  await runCompose(['--file', join(root, 'docker', 'compose.yaml'), '--file', '-', 'build', 'clinigate'], {
    input: JSON.stringify(override),
    environment: {
      TEST_NPMRC: await readNpmSettings(),
      CLINIGATE_VERSION: runGit('describe', '--tags', '--always'),
      CLINIGATE_REVISION: runGit('rev-parse', 'HEAD')
    }
  })
}

const runGit = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

/** The npm settings of this machine: the user's own file, and authorities that Node does not know by itself. */
export async function readNpmSettings (): Promise<string> {
  const own = join(homedir(), '.npmrc')
  const file = process.env.NODE_EXTRA_CA_CERTS ?? (await run(['npm', 'config', 'get', 'cafile'])).trim()
  const bundle = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const known = new Set(rootCertificates.map(withoutSpace))
  const authorities = (bundle.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [])
    .filter(certificate => !known.has(withoutSpace(certificate)))
    .map(certificate => `ca[]="${certificate.replaceAll('\n', '\\n')}"`)
  return [existsSync(own) ? readFileSync(own, 'utf8').trim() : '', ...authorities].join('\n')
}

const withoutSpace = (text: string): string => text.replace(/\s/g, '')
