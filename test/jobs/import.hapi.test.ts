import { requireRealBackend } from '../harness/backend.js'
import { testImports } from './import-contract.js'

const { name, url } = requireRealBackend()

testImports(name, url)
