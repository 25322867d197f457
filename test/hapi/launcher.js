/** A real HAPI FHIR R4 JPA server as a child process, in memory, on loopback. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildWhenNeeded } from './maven.js'

const target = join(import.meta.dirname, 'target')
/** A class archive, once `npm run hapi -- --archive` has written it; Java ignores one that is older than the jars. */
export const archive = join(target, 'hapi.jsa')
const startLimitMs = 180_000
const stopLimitMs = 60_000

/**
 * Builds the server when needed, starts it and waits until it serves.
 * @param {object} options
 * @param {(line: string) => void} options.log progress
 * @param {(line: string) => void} [options.said] output of the server; `log` unless given
 * @param {number} [options.port] 0, the default, takes a free one
 * @param {Record<string, string | number | boolean>} [options.settings] the settings of README.md, without `hapi.`
 * @param {string[]} [options.jvm] further flags of Java
 * @param {AbortSignal} [options.signal] aborts the start and ends the server
 * @returns {Promise<{ url: string, pid: number, ended: Promise<void>, stop: () => Promise<void> }>} `url` is the FHIR
 * base URL
 * @throws {Error} when the server does not come up within three minutes; no process is left then
 */
export async function startHapi ({ log, said = log, port = 0, settings = {}, jvm = [], signal }) {
  await buildWhenNeeded({ log, signal })
  log('Starting HAPI')
  const java = spawn('java', buildJavaArguments({ port, end_with_parent: true, ...settings }, jvm), {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal
  })
  const ended = new Promise(resolve => java.once('close', () => resolve()))
  createInterface(java.stderr).on('line', said)
  const stop = () => end(java, ended)
  try {
    return { url: await waitForUrl(java), pid: java.pid, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function buildJavaArguments (settings, jvm) {
  return [
    '-Xmx2g', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1',
    ...existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`, '-Xlog:cds=off', '-Xlog:class+path=off'] : [],
    ...jvm,
    ...Object.entries(settings).map(([name, value]) => `-Dhapi.${name}=${value}`),
    '-cp', [join(target, 'hapi-launcher.jar'), join(target, 'lib', '*')].join(delimiter),
    'clinigate.hapi.Launcher'
  ]
}

function waitForUrl (java, said) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`HAPI did not come up within ${startLimitMs / 1000} s`)),
      startLimitMs
    )
    const settle = (act, value) => { clearTimeout(timer); act(value) }
    createInterface(java.stdout).on('line', line => {
      if (line.startsWith('READY ')) settle(resolve, line.slice('READY '.length))
    })
    java.once('close', code => settle(reject, new Error(`HAPI ended with ${code} before it served`)))
    java.on('error', error =>
      settle(reject, error.code === 'ENOENT' ? new Error('java was not found: install Java 17 or newer') : error)
    )
  })
}

async function end (java, ended) {
  if (java.pid === undefined) return
  java.kill('SIGTERM')
  const timer = setTimeout(() => java.kill('SIGKILL'), stopLimitMs)
  await ended
  clearTimeout(timer)
}
