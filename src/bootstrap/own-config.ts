import { existsSync, readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config/schema.js'
import type { ProcessMember } from './processes/member.js'

/** The name of the gateway of this process: the machine's name where the configuration has none. */
export function getGatewayName ({ gatewayName: name }: Config['control']): string {
  return name ?? (hostname().replace(/[^\w.-]/g, '-').slice(0, 100) || 'gateway')
}

/** Where clients reach this process. */
export function getOwnUrl ({ publicUrl, host, port }: Config): string {
  return publicUrl ?? `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

type Numbered = Pick<ProcessMember, 'number' | 'of'>

/** The directory of the process with a number, for the files that it alone writes. */
function getProcessDirectory (dataDirectory: string, number: number): string {
  return number === 1 ? dataDirectory : join(dataDirectory, `process-${number}`)
}

/** The configuration as one of several processes applies it: its share of what all of them may use together. */
export function toShare (config: Config, { number, of }: Numbered): Config {
  const { limits, bulk, control, auditLog } = config
  const { file } = auditLog
  return {
    ...config,
    limits: { ...limits, connections: Math.ceil(limits.connections / of) },
    bulk: {
      ...bulk,
      maxConcurrentJobs:
        Math.floor(bulk.maxConcurrentJobs / of) + (number <= bulk.maxConcurrentJobs % of ? 1 : 0)
    },
    control: number === 1 ? control : { ...control, gatewayName: `${getGatewayName(control)}-${number}` },
    auditLog: number === 1 || file === undefined ? auditLog : { ...auditLog, file: `${file}.process-${number}` }
  }
}

/**
 * The same for the gateway of the process, whose data directory is its own, except for data that clients may request
 * from any process: the files of bulk jobs, and cursors.
 */
export function toOwnDirectory (config: Config, { number }: Pick<Numbered, 'number'>): Config {
  return withDirectory(config, getProcessDirectory(config.dataDirectory, number))
}

/** The directory of a gateway's thread for bulk jobs, for the files that it alone writes. */
export const getJobThreadDirectory = (dataDirectory: string): string => join(dataDirectory, 'job-thread')

/** The directories of the processes with this data directory, and of their threads, there or not. */
export function listWriterDirectories (
  dataDirectory: string, numbers = [1, ...readProcessNumbers(dataDirectory)]
): string[] {
  return numbers
    .map(number => getProcessDirectory(dataDirectory, number))
    .flatMap(directory => [directory, getJobThreadDirectory(directory)])
}

/** The numbers of the processes that have a directory of their own in this one. */
export function readProcessNumbers (dataDirectory: string): number[] {
  if (!existsSync(dataDirectory)) return []
  return readdirSync(dataDirectory).flatMap(name => /^process-(\d+)$/.exec(name)?.[1] ?? []).map(Number)
}

/** The configuration of a gateway as its thread for bulk jobs applies it. */
export function toJobThread (config: Config): Config {
  const { control, auditLog, dataDirectory } = config
  const { file } = auditLog
  return {
    ...withDirectory(config, getJobThreadDirectory(dataDirectory)),
    control: { ...control, gatewayName: `${getGatewayName(control)}-jobs` },
    auditLog: file === undefined ? auditLog : { ...auditLog, file: `${file}.job-thread` }
  }
}

function withDirectory (config: Config, own: string): Config {
  const { dataDirectory, bulk, cursor } = config
  return {
    ...config,
    dataDirectory: own,
    bulk: { ...bulk, directory: bulk.directory ?? join(dataDirectory, 'bulk') },
    cursor: { secretFile: cursor.secretFile ?? join(dataDirectory, 'cursor.secret') }
  }
}
