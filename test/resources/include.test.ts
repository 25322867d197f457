import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testIncludes } from './include-contract.js'

await onEachSandbox(t, testIncludes)
t.end()
