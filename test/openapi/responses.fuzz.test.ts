import { testByFuzzing } from './fuzz-contract.js'

await testByFuzzing({
  title: 'whatever is sent to the gateway with its sandbox is answered as the document says',
  seconds: 40,
  seed: 1
})
