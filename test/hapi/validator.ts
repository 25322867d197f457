import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildWhenNeeded } from './maven.js'

/** An issue that the validator finds in a resource. */
export interface ValidationIssue {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  readonly location: string
  /** The validator's name for the rule. */
  readonly code: string
  readonly message: string
}

/** HAPI's validator in a process of its own. */
export interface Validator {
  /** The issues of a resource in JSON; empty when there is none. */
  readonly validate: (resource: string) => Promise<ValidationIssue[]>
  readonly stop: () => Promise<void>
}

/** Starts the validator, which needs some seconds for its first resource and no network. */
export async function startValidator (): Promise<Validator> {
  await buildWhenNeeded({ log: () => {} })
  const java = spawn(
    'java',
    [
      '-XX:TieredStopAtLevel=1',
      '-Xmx700m',
      '-cp',
      join(import.meta.dirname, 'target', 'lib', '*'),
      // Java compiles the one file itself.
      join(import.meta.dirname, 'Validator.java')
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] }
  )
  let errorOutput = ''
  java.stderr.on('data', text => { errorOutput = (errorOutput + text).slice(-2_000) })
  const ended = once(java, 'close')
  const waiting: Array<(issues: ValidationIssue[] | Error) => void> = []
  createInterface(java.stdout).on('line', line => waiting.shift()?.(JSON.parse(line)))
  ended.then(() => {
    for (const settle of waiting.splice(0)) settle(new Error(`the validator ended: ${errorOutput}`))
  })
  return {
    validate: async resource => {
      const issues = await new Promise<ValidationIssue[] | Error>(resolve => {
        waiting.push(resolve)
        // A line break of JSON is only space.
        java.stdin.write(`${resource.replaceAll('\n', ' ')}\n`)
      })
      if (issues instanceof Error) throw issues
      return issues
    },
    stop: async () => {
      java.stdin.end()
      await ended
    }
  }
}
