import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { probeForeignIds } from './foreign-ids.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())

t.test('another tenant’s ids on the sandbox', t => probeForeignIds(t, { fhirUrl: sandbox.url }))
