import t from 'tap'
import { referenceParameters } from '../../src/mappings/r4/search-parameters.js'
import { readSearch } from '../../src/api/passthrough/search-request.js'

const request = (type: string, name: string, value: string) => () =>
  readSearch(type, { query: [[name, value]], isLenient: false, fhirBase: 'https://gateway.test/v1/fhir' })
const says = { status: 400, message: /canonical URLs are not followed/ }

// A datastore follows them to the records of every organization, and to a thousand at most.
t.test('no search follows a canonical URL to other records', async t => {
  t.throws(request('QuestionnaireResponse', '_include', 'QuestionnaireResponse:questionnaire'), says)
  t.throws(request('Questionnaire', '_revinclude', 'QuestionnaireResponse:questionnaire'), says)
  t.throws(request('QuestionnaireResponse', '_include:iterate', 'PlanDefinition:depends-on'), says)
  t.throws(request('Questionnaire', '_has:QuestionnaireResponse:questionnaire:status', 'completed'), says)
  t.throws(request('QuestionnaireResponse', 'questionnaire:Questionnaire.name', 'x'), says)
  t.doesNotThrow(
    request('QuestionnaireResponse', 'questionnaire', 'http://example.org/q'),
    'they are conditions as before'
  )
})

t.test('of the parameters of kind reference, those that look at canonicals are not followed', async t => {
  t.notOk(referenceParameters('QuestionnaireResponse').includes('questionnaire'))
  t.notOk(
    referenceParameters('PlanDefinition').some(name => ['definition', 'depends-on', 'composed-of'].includes(name)),
    'in a choice, a list or beside another'
  )
  t.ok(
    ['source', 'subject', 'part-of', 'based-on'].every(name =>
      referenceParameters('QuestionnaireResponse').includes(name)
    )
  )
  t.ok(
    referenceParameters('Linkage').includes('item'),
    'a Reference of the name that related artifacts have for a canonical'
  )
  t.ok(referenceParameters('Substance').includes('substance-reference'), 'a Reference among other types')
  t.ok(referenceParameters('Composition').includes('patient'), 'a Reference to one type')
})
