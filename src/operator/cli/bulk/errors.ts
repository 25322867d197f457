import { CommanderError, type Command } from 'commander'
import { ClinigateError } from '../../../client/errors.js'
import { findErrorCode } from '../../../client/retry.js'
import { ExitWithFindings, Interrupted } from '../context.js'

/** An error of a bulk command, whose message says what to do. It contains no key, no record and no value of one. */
export class CliError extends Error {}

/** Whether an error is a response that is no success, of the gateway or of something before it. */
export const isRefusal = (error: unknown): error is ClinigateError =>
  error instanceof ClinigateError && error.status > 0

/** Does the work of a command; any error that prevents it ends the command with 2, because 1 reports failed records. */
export async function withExitCode (command: Command, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof ExitWithFindings || error instanceof CommanderError || error instanceof Interrupted) {
      throw error
    }
    command.error(`error: ${explain(error)}`, { exitCode: 2 })
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'a file or directory is missing',
  EACCES: 'you do not have permission to read or write a file',
  EISDIR: 'a directory exists where a file is expected',
  ENOTDIR: 'a file exists where a directory is expected',
  EEXIST: 'a file already exists',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
  EDQUOT: 'your quota of the disk is used up',
  EFBIG: 'a file would be larger than the disk allows',
  EIO: 'the disk failed'
}

/** Whether an error is of a file, which no further attempt betters. */
export function isDiskError (error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return code !== undefined && Object.hasOwn(reasons, code) && syscall !== 'connect'
}

/** The message of an error for the person at the terminal. */
export function explain (error: unknown): string {
  if (error instanceof ClinigateError) return explainClientError(error)
  const { code = '', message } = error as NodeJS.ErrnoException
  return error instanceof CliError ? message : reasons[code] ?? message
}

function explainClientError (error: ClinigateError): string {
  const { code, status, message, issues } = error
  if (code === 'NETWORK_ERROR') {
    const reason = findErrorCode(error) ?? 'no connection'
    return `The gateway does not respond (${reason}). Check --url and that the gateway is running.`
  }
  if (code === 'UNEXPECTED_RESPONSE') return `The server at the URL is not a gateway (status ${status}). Check --url.`
  const lines = issues.map(({ diagnostics, expression: [field] = [] }) =>
    `\n  - ${field === undefined ? '' : `${field}: `}${diagnostics}`)
  return message + lines.join('')
}

/**
 * Does the work until it is done or the person wants it to end: the signal is then aborted, and the next one kills the
 * process.
 */
export async function runUntilInterrupted (work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupt = new AbortController()
  const stop = (): void => interrupt.abort(new Interrupted())
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, stop)
  try {
    await work(interrupt.signal)
  } catch (error) {
    throw interrupt.signal.aborted && !(error instanceof CommanderError) ? interrupt.signal.reason : error
  } finally {
    for (const signal of signals) process.off(signal, stop)
  }
}
