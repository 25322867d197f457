import t from 'tap'
import { versionsIn } from '../../src/envelope/preconditions.js'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import type { Batch } from '../../src/tenant-guard/fhir-interaction.js'
import { bundle, entry } from '../passthrough/fixture.js'

const spaces = ' '.repeat(2_000_000)

// The time was the square of the number of spaces: the entry of a Bundle may have millions, and half a million took two
// minutes.
t.test('an entity tag after millions of spaces is read or refused', async t => {
  t.strictSame(versionsIn(`"1"${spaces},${spaces}W/"2"`, 'If-Match'), ['1', '2'])
  t.throws(() => versionsIn(`"1"${spaces}x`, 'If-Match'), { code: 'BAD_REQUEST' })
  const patient = { resourceType: 'Patient', id: '1' }
  const sent = bundle(
    'batch',
    entry('GET', 'Patient/1', undefined, { ifNoneMatch: `"1"${spaces}x` }),
    entry('PUT', 'Patient/1', patient, { ifMatch: `"1"${spaces}x` })
  )
  const { entries } = parseInteraction({
    method: 'POST',
    path: [],
    query: [],
    body: sent,
    isLenient: false,
    showsWritten: false,
    fhirBase: ''
  }) as Batch
  t.match(entries, [{ failure: { code: 'BAD_REQUEST' } }, { failure: { code: 'BAD_REQUEST' } }])
})
