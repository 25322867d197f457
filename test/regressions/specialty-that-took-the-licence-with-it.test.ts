import t from 'tap'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import { claimResponses } from '../../src/mappings/resources/claim-responses.js'
import { practitioners } from '../../src/mappings/resources/practitioners.js'

// The specialty is the code of the first qualification; without it the whole qualification went, licence number and
// all.
t.test('a specialty is removed alone, or not at all while its qualification holds more', async t => {
  const removal = { specialty: null }
  const surgery = { code: { text: 'surgery' } }
  const licensed = { ...surgery, identifier: [{ value: 'L-1' }], issuer: { reference: 'Organization/1' } }
  const before = { resourceType: 'Practitioner', qualification: [licensed, surgery] }
  const after = practitioners.patch(before, removal)
  t.strictSame(checkChange(practitioners, removal), [])
  t.match(checkRules(practitioners, after, ['specialty'], before), [
    { expression: ['specialty'], diagnostics: /change qualifications instead/ }
  ])
  t.strictSame(
    checkRules(practitioners, practitioners.patch(before, { specialty: 'oncology' }), ['specialty'], before),
    []
  )
  t.strictSame(
    practitioners.patch(before, { qualifications: null }),
    { resourceType: 'Practitioner' },
    'the whole may be removed'
  )

  const bare = { resourceType: 'Practitioner', qualification: [surgery, licensed] }
  const rest = practitioners.patch(bare, removal)
  t.strictSame(rest, { resourceType: 'Practitioner', qualification: [licensed] })
  t.strictSame(checkRules(practitioners, rest, ['specialty'], bare), [])
})

t.test('neither does the remark on a claim take the number of its process note with it', async t => {
  const before = { resourceType: 'ClaimResponse', processNote: [{ number: 1, text: 'see line 2' }] }
  t.match(checkRules(claimResponses, claimResponses.patch(before, { note: null }), ['note'], before), [
    { expression: ['note'], diagnostics: /change processNote instead/ }
  ])
  const bare = { resourceType: 'ClaimResponse', processNote: [{ text: 'see line 2' }] }
  t.strictSame(claimResponses.patch(bare, { note: null }), { resourceType: 'ClaimResponse' })
})
