import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { includeContract } from './include-contract.js'

await onEachSandbox(t, includeContract)
t.end()
