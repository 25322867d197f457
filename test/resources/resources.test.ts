import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testResources } from './resources-contract.js'

// The whole file, which the runner would otherwise end after two minutes.
t.setTimeout(900_000)
await onEachSandbox(t, testResources, 900_000)
