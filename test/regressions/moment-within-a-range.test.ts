import t from 'tap'
import { notes } from '../../src/mappings/resources/notes.js'
import { readSearch } from '../../src/resources/query.js'

// HAPI refused the search, and the answer did not say which filter was wrong.
t.test('a filter for one moment beside those for a range is refused by its name', async t => {
  for (const query of ['date=2026-03-14&dateFrom=2026', 'dateTo=2026&date=2026-03-14', 'dateFrom=2025&date=2026-03-14&dateTo=2026']) {
    t.throws(() => readSearch(notes, query), { code: 'BAD_REQUEST', issues: [{ expression: ['date'], diagnostics: /dateFrom|dateTo/ }] }, query)
  }
  for (const query of ['date=2026-03-14', 'dateFrom=2025&dateTo=2026', 'date=2026-03-14&periodFrom=2025']) t.doesNotThrow(() => readSearch(notes, query), query)
})
