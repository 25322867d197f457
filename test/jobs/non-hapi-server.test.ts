import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { testImports } from './import-contract.js'

// The whole file, on a machine that does much else.
t.setTimeout(240_000)
const server = await startTestSandbox(t, { ...unlikeHapi, references: 'checked' })
testImports('a server unlike HAPI', server.url, false)
