import { realBackend } from '../harness/backend.js'
import { importContract } from './import-contract.js'

const { name, url } = realBackend()

importContract(name, url)
