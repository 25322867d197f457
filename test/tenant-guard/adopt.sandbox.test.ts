import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { adoptContract } from './adopt-contract.js'

await onEachSandbox(t, (t, url) => adoptContract(t, url, 1_200))
