import t from 'tap'
import { parseStrict, printJson } from '../../src/json/json.js'
import { changesOf } from '../../src/api/resources/changes.js'

// The JSON Patch library copied a number with its text member by member, so that 1.10 became an object and was refused.
t.test('a JSON Patch keeps the text of the numbers that it brings, moves, copies and leaves alone', async t => {
  const read = (text: string) => parseStrict(new TextEncoder().encode(text))
  const shown = read('{"amount":{"value":2.50},"list":[{"value":1e2},{"value":3.0}]}') as Record<string, unknown>
  const changes = (patch: string) => printJson(changesOf(read(patch), shown))
  t.equal(changes('[{"op":"replace","path":"/amount","value":{"value":1.10}}]'), '{"amount":{"value":1.10}}')
  t.equal(
    changes('[{"op":"add","path":"/list/-","value":{"value":0.10}}]'),
    '{"list":[{"value":1e2},{"value":3.0},{"value":0.10}]}'
  )
  t.equal(
    changes('[{"op":"copy","from":"/amount","path":"/list/0"},{"op":"remove","path":"/list/2"}]'),
    '{"list":[{"value":2.50},{"value":1e2}]}'
  )
  t.equal(
    changes('[{"op":"move","from":"/list/1/value","path":"/amount/value"}]'),
    '{"amount":{"value":3.0},"list":[{"value":1e2},{}]}'
  )
  t.equal(
    changes('[{"op":"test","path":"/amount/value","value":2.5},{"op":"test","path":"/list/0","value":{"value":100}}]'),
    '{}'
  )
  t.throws(() => changes('[{"op":"test","path":"/amount/value","value":2.6}]'), { code: 'VALIDATION_ERROR' })
  t.throws(() => changes('[{"op":"add","path":"/amount/value/x","value":1}]'), { code: 'VALIDATION_ERROR' })
})
