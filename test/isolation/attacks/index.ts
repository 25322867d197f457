import type { Attack } from './attack.js'
import { reads } from './a1-reads.js'
import { paths } from './a2-paths.js'
import { searches } from './a3-search.js'
import { formSearches } from './a3-form.js'
import { joins } from './a3-joins.js'
import { writes } from './a4-writes.js'
import { conditions } from './a4-conditions.js'
import { headers } from './a5-headers.js'
import { bundles } from './a6-bundles.js'
import { references } from './a7-references.js'
import { operations } from './a8-operations.js'
import { questions } from './a8-questions.js'
import { shared } from './a9-shared.js'
import { binaries } from './a10-binary.js'
import { http } from './a12-http.js'
import { cursors } from './e5-cursors.js'

/** All attacks, section by section as the isolation rules have them. */
export const attacks: Readonly<Record<string, readonly Attack[]>> = {
  reads,
  paths,
  searches,
  'form searches': formSearches,
  joins,
  cursors,
  references,
  operations,
  questions,
  shared,
  binaries,
  http,
  headers,
  conditions,
  bundles,
  writes
}
