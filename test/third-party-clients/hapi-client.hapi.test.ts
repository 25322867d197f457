import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testClient } from './client-contract.js'

const jars = join(import.meta.dirname, '..', 'hapi', 'target', 'lib')

await testClient('HAPI\'s Java client works with the gateway as with any R4 server', {
  skip: !existsSync(jars) && 'the client is among the jars that npm run hapi fetches, and they are not here',
  run: async ({ base, key }) => {
    // Java compiles the one file itself.
    const { stdout } = await promisify(execFile)(
      'java',
      [
        '-XX:TieredStopAtLevel=1',
        '-Xmx512m',
        '-cp',
        join(jars, '*'),
        join(import.meta.dirname, 'HapiClient.java'),
        base,
        key
      ],
      { timeout: 240_000 }
    )
    return JSON.parse(stdout.trim().split('\n').at(-1)!)
  }
})
