import t from 'tap'
import { deviceRequests } from '../../src/mappings/resources/device-requests.js'
import { goals } from '../../src/mappings/resources/goals.js'
import { observations } from '../../src/mappings/resources/observations.js'

// The object was of no form of the choice, and the goal's target was stored nowhere.
t.test('a code that has only text is stored where a choice of several forms accepts it', async t => {
  const words = { text: 'walks alone' }
  const goal = goals.toFhir({ target: [{ measure: 'gait', detail: words }] })
  t.match(goal.target, [{ detailCodeableConcept: words }])
  t.match(goals.toSimple(goal).target, [{ detail: words.text }])
  const observation = observations.toFhir({ component: [{ code: 'gait', value: words }] })
  t.match(observation.component, [{ valueCodeableConcept: words }])
  t.match(observations.toSimple(observation).component, [{ value: words.text }])
})

t.test('a value of no form of a choice is rejected, and never dropped silently', async t => {
  t.throws(
    () => goals.toFhir({ target: [{ measure: 'gait', detail: { unknown: 'x' } }] }),
    { code: 'VALIDATION_ERROR', issues: [{ expression: ['detail'] }] }
  )
})

// It was taken for a code without code and text, and a warning named a loss that was none.
t.test('a quantity without a value, as another system stored it, stays a quantity', async t => {
  const stored = { parameter: [{ valueQuantity: { unit: 'mm' } }] }
  t.match(deviceRequests.toFhir(deviceRequests.toSimple(stored)).parameter, stored.parameter)
})
