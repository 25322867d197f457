import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { unlikeHapi } from '../harness/unlike-hapi.js'
import { importContract } from './import-contract.js'

// The whole file, on a machine that does much else.
t.setTimeout(240_000)
const server = await startSandbox({ file: ':memory:', now: () => new Date(), manners: { ...unlikeHapi, references: 'checked' } })
t.teardown(() => server.close())
importContract('a server unlike HAPI', server.url, false)
