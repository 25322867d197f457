import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { followReadme } from './readme.js'

t.test('a newcomer follows the README with a FHIR server of their own', t =>
  followReadme(t, { FHIR_TEST_URL: requireRealBackend().url })
)
