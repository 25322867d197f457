import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { interactionContract } from './interaction-contract.js'
import { searchContract } from './search-contract.js'

const { url } = requireRealBackend()

t.test('HAPI fulfils the contract of interactions', t => interactionContract(t, url, { isSandbox: false }))
t.test('HAPI fulfils the contract of searches', t => searchContract(t, url))
