import t from 'tap'
import { goals } from '../../src/mappings/resources/goals.js'
import { observations } from '../../src/mappings/resources/observations.js'

// The object was of no form of the choice, and what was to be reached was stored nowhere.
t.test('a code that has only text is stored where a choice of several forms takes it', async t => {
  const words = { text: 'walks alone' }
  const goal = goals.toFhir({ target: [{ measure: 'gait', detail: words }] })
  t.match(goal.target, [{ detailCodeableConcept: words }])
  t.match(goals.toSimple(goal).target, [{ detail: words.text }])
  const observation = observations.toFhir({ component: [{ code: 'gait', value: words }] })
  t.match(observation.component, [{ valueCodeableConcept: words }])
  t.match(observations.toSimple(observation).component, [{ value: words.text }])
})
