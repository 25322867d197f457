import t from 'tap'
import { notes } from '../../src/mappings/resources/notes.js'
import { paymentNotices } from '../../src/mappings/resources/payment-notices.js'
import { readSearch } from '../../src/api/resources/query.js'

// HAPI refused the search, and the answer did not say which filters do not go together.
t.test('two filters that bound the same dates from the same side are refused by name', async t => {
  for (const query of ['date=2026-03-14&dateFrom=2026', 'dateFrom=2025&date=2026-03-14&dateTo=2026']) {
    t.throws(
      () => readSearch(notes, query),
      { code: 'BAD_REQUEST', issues: [{ diagnostics: /cannot be combined with/ }] },
      query
    )
  }
  for (const query of ['date=2026-03-14', 'dateFrom=2025&dateTo=2026', 'date=2026-03-14&periodFrom=2025']) {
    t.doesNotThrow(() => readSearch(notes, query), query)
  }
  t.throws(() => readSearch(paymentNotices, 'createdFrom=2025&dateFrom=2026'), {
    code: 'BAD_REQUEST',
    issues: [{ expression: ['createdFrom'] }]
  })
  t.doesNotThrow(() => readSearch(paymentNotices, 'createdFrom=2025&dateTo=2026'))
})
