import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { run } from '../../src/operator/cli/run.js'
import type { Streams } from '../../src/operator/cli/context.js'

/** How a command ended and what it printed. */
export interface Ended { readonly code: number | null, readonly out: string, readonly err: string }

/** Runs a command in this process. */
export async function runCommand (environment: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended> {
  let [out, err] = ['', '']
  const createSink = (write: (text: string) => void) =>
    new Writable({
      write (chunk, _, done) {
        write(String(chunk))
        done()
      }
    })
  const code = await run(args, {
    environment,
    user: 'ann',
    now: () => new Date(),
    out: text => {
      out += text
    },
    err: text => {
      err += text
    },
    streams: {
      stdin: Readable.from([]),
      stdout: createSink(text => {
        out += text
      }),
      stderr: createSink(text => {
        err += text
      })
    } as unknown as Streams
  })
  return { code, out, err }
}

const cli = join(import.meta.dirname, '../../src/operator/cli/index.ts')

/** Starts a command as a process of its own. */
export function start (
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [...process.execArgv, cli, ...args], {
    env: { ...process.env, ...environment }
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    err += text
  })
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, out, err })) }
}
