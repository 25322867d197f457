import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { actAtRandom } from './two-tenants.js'

// ISOLATION_RUNS=500 is a long run.
const runs = Number(process.env.ISOLATION_RUNS ?? 25)

t.test('two tenants acting at random on the real HAPI see nothing of each other', t => actAtRandom(t, { fhirUrl: realBackend().url }, { runs, steps: 80 }))
