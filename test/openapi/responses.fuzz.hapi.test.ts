import { requireRealBackend } from '../harness/backend.js'
import { testByFuzzing } from './fuzz-contract.js'

await testByFuzzing({
  title: 'whatever is sent to the gateway before HAPI is answered as the document says',
  fhirUrl: requireRealBackend().url,
  seconds: 40,
  seed: 2
})
