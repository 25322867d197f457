import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { actAtRandom } from './two-tenants.js'

const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
t.teardown(() => sandbox.close())

t.test('two tenants acting at random on the sandbox see nothing of each other', t => actAtRandom(t, { fhirUrl: sandbox.url }, { runs: 10, steps: 60 }))
