/** `policies` are those with an authority, but the contract lets clients send one without among them. */
import t from 'tap'
import { checkChange, checkCreate } from '../../src/mappings/core/validate.js'
import { consents } from '../../src/mappings/resources/consents.js'
import { createContext } from '../harness/create-context.js'

const [law, house] = ['https://example.org/law', 'https://example.org/house-rules']
const consent = { patientId: 'p', scope: 'research', category: 'study' }

/** The consent that a client reads after it created it with these fields. */
function createAndRead (fields: object) {
  const complete = consents.withDefaults({ ...consent, ...fields }, createContext)
  t.strictSame(checkCreate(consents, complete), [])
  const { policyUri, policies, policyRule } = consents.toSimple(consents.toFhir(complete))
  t.equal(policyRule, undefined)
  return { policyUri, policies }
}

t.test('a policy that is sent without an authority is the policyUri', async t => {
  t.strictSame(createAndRead({ policies: [{ uri: house }] }), { policyUri: house, policies: undefined })
  t.strictSame(createAndRead({ policies: { uri: house } }), { policyUri: house, policies: undefined })
  t.strictSame(createAndRead({ policies: [{ uri: house }, { authority: law }] }), {
    policyUri: house,
    policies: [{ authority: law }]
  })
  t.strictSame(createAndRead({ policyUri: house, policies: [{ authority: law, uri: law }] }), {
    policyUri: house,
    policies: [{ authority: law, uri: law }]
  })
})

t.test('two policies, or one together with a policyUri, are rejected at their place', async t => {
  const listFaults = (fields: object) =>
    checkCreate(consents, consents.withDefaults({ ...consent, ...fields }, createContext)).map(
      issue => issue.diagnostics
    )
  t.strictSame(listFaults({ policies: [{ uri: law }, { uri: house }] }), [
    'policies[0].authority: is required here',
    'policies[1].authority: is required here'
  ])
  t.strictSame(listFaults({ policyUri: law, policies: [{ uri: house }] }), ['policies[0].authority: is required here'])
  t.strictSame(listFaults({ policies: [{ uri: 7 }] }), ['policyUri: expected a URI without spaces'])
  t.strictSame(listFaults({ policies: 7 }).length, 1)
})

t.test('in a change the list is the whole list: items that are not sent are removed', async t => {
  const before = consents.toFhir({ ...consent, policyUri: law, policies: [{ authority: law }, { authority: house }] })
  const patchPolicies = (changes: object) => {
    const named = consents.resolveAliases(changes as Record<string, unknown>)
    t.strictSame(checkChange(consents, named), [])
    return consents.patch(before, named).policy
  }
  t.strictSame(patchPolicies({ policies: [{ uri: house }] }), [{ uri: house }])
  t.strictSame(patchPolicies({ policies: [{ authority: law }, { uri: house }] }), [{ uri: house }, { authority: law }])
  t.strictSame(patchPolicies({ policies: [{ authority: law }] }), [{ uri: law }, { authority: law }])
  t.strictSame(patchPolicies({ policies: null }), [{ uri: law }])
})
