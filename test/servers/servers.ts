/** How a server differs from what the suites expect of a FHIR server, with the assertions that show it. */
interface Difference {
  /** In a line of the documentation: `It answers …`. */
  readonly server: string
  /** What the gateway does about it, likewise. */
  readonly gateway: string
  /**
   * The failed assertions that it explains: those whose file, titles and diagnostics all match. Each entry must match
   * at least one in a whole run, otherwise it is out of date. None where no assertion shows it.
   */
  readonly explains: ReadonlyArray<{ readonly file: string, readonly title: RegExp, readonly shows: RegExp }>
}

/** A FHIR server that the suites run on, in addition to the sandbox and HAPI, where nothing may fail. */
export interface KnownServer {
  /** Its name, version and store, for the documentation. */
  readonly title: string
  /** The day of the last whole run, or that there was none. */
  readonly date: string
  readonly differences: readonly Difference[]
}

/** The file of a suite that runs on any FHIR server. */
const toSuitePath = (name: string): string => `test/${name}.hapi.test.ts`

/** The groups that the suite of simple resources tests: types that the server lists, and one that it does not. */
export const resourceGroups = 'patients,encounters,care-teams'

/** The suites that run on any FHIR server. */
export const suites: readonly string[] = [
  'isolation/attacks',
  'isolation/foreign-matches',
  'isolation/two-tenants',
  'tenant-guard/guard',
  'tenant-guard/adopt',
  'tenant-guard/audit',
  'resources/resources',
  'resources/include',
  'resources/documented-forms',
  'passthrough/writes',
  'passthrough/reads',
  'passthrough/searches',
  'passthrough/conditionals',
  'passthrough/batches',
  'passthrough/transactions',
  'passthrough/refusals',
  'passthrough/structure',
  'passthrough/lossless',
  'passthrough/stored-bundles',
  'passthrough/bundle-references',
  'passthrough/compartments',
  'passthrough/joins',
  'passthrough/long-pages',
  'passthrough/reads-as-requested',
  'passthrough/binary',
  'passthrough/calls',
  'resources/contradicting-fields',
  'resources/idempotency',
  'resources/erasure',
  'isolation/limited-keys',
  'jobs/export',
  'jobs/import',
  'audit-log/audit-events'
].map(toSuitePath)

const attacks = toSuitePath('isolation/attacks')
const resources = toSuitePath('resources/resources')
const audited = toSuitePath('audit-log/audit-events')
const toFhirSuitePath = (name: string): string => toSuitePath(`passthrough/${name}`)

/** The differences of both. */
const ofBoth: readonly Difference[] = [
  {
    server: 'It fails with 500 on a search by more than about a thousand values.',
    gateway: '502; `clinigate doctor` reports `many-values`.',
    explains: [
      { file: attacks, title: / > A3 very long: POST /, shows: /answered 502 in place of 200/ },
      { file: toFhirSuitePath('joins'), title: / > 999 are not too many$/, shows: /-200\n *\+502$/m },
      { file: toFhirSuitePath('searches'), title: / > page by page, longer than any URL$/, shows: /\+Array \[\]/ }
    ]
  },
  {
    server: 'It deletes records that others refer to.',
    gateway: 'The delete is performed, 204 in place of 409; `doctor` reports `referred-to-kept`.',
    explains: [
      { file: attacks, title: / > A4 delete: DELETE \/Patient/, shows: /answered (?:204|404) in place of 409/ },
      { file: toFhirSuitePath('writes'), title: / > a record that others refer to is not deleted > /, shows: /./ },
      { file: toSuitePath('resources/erasure'), title: /the 409 lists them|lists the same as issues|refer to each other|a list is bounded/, shows: /./ },
      { file: toFhirSuitePath('transactions'), title: / > a transaction that deletes what another record refers to does nothing > /, shows: /./ }
    ]
  },
  {
    server: 'It takes a conditional create whose record does not match its own criteria.',
    gateway: 'The record is stored, 201 in place of 422.',
    explains: [
      { file: toFhirSuitePath('conditionals'), title: / > a record that does not meet its own criteria$/, shows: /./ },
      // A stored record is found afterwards.
      { file: toFhirSuitePath('conditionals'), title: /makes one record, .* > should be equal$/, shows: /-2\n *\+3$/m },
      { file: toFhirSuitePath('conditionals'), title: / > a deleted record is none$/, shows: /-201\n *\+200$/m }
    ]
  },
  {
    server: 'It stores a record for each of several conditional creates that arrive at the same moment.',
    gateway: 'One gateway sends a create with an `Idempotency-Key` once; several need `REDIS_URL`. `doctor` reports `conditional-create-at-once`.',
    explains: [{ file: toSuitePath('resources/idempotency'), title: /concurrent creates with one key at several gateways /, shows: /./ }]
  },
  {
    server: 'Its `_summary=text` leaves out elements that are mandatory.',
    gateway: 'The response has `text` alone.',
    explains: [{ file: toFhirSuitePath('reads-as-requested'), title: /_summary=text has the mandatory elements/, shows: /^ *- +"[a-zA-Z]+",$/m }]
  },
  {
    server: 'It includes more than a thousand records in a page.',
    gateway: 'It returns them all.',
    explains: [{ file: toFhirSuitePath('long-pages'), title: / > should be equal$/, shows: /-1000\n *\+1010$/m }]
  },
  {
    server: 'It takes references to records that do not exist.',
    gateway: 'It checks each reference before it writes; `doctor` reports `references-checked`.',
    explains: []
  }
]

export const servers: Readonly<Record<'sekmet' | 'helios', KnownServer>> = {
  sekmet: {
    title: 'SEKMET 0.1.1 (Python, SQLite)',
    date: '26 November 2026',
    differences: [
      ...ofBoth,
      {
        server: 'It rounds decimals: 1.10 comes back as 1.1.',
        gateway: 'It returns the number that is stored; `doctor` reports `numbers`.',
        explains: [
          // The worst loss comes first in the list.
          { file: toFhirSuitePath('lossless'), title: / > \d+ of \d+$/, shows: /^(?![^]*"(?:more than numbers|status)")[^]*"only numbers"/ },
          { file: attacks, title: / > A4 JSON: POST \/Observation/, shows: /lacks 1\.10:/ },
          { file: resources, title: / > the text of a number is preserved /, shows: /"value\\":(?:1\.1|0\.5)\b/ },
          { file: toSuitePath('tenant-guard/guard'), title: /its numbers to the letter > /, shows: /-1\.10\n *\+1\.1$/m },
          { file: toSuitePath('tenant-guard/adopt'), title: /./, shows: /-"1\.10"\n *\+"1\.1"$/m },
          { file: toSuitePath('jobs/export'), title: /: numbers, texts, tags and /, shows: /1\\\.10/ },
          { file: toFhirSuitePath('writes'), title: / > numbers keep their text, .* > [a-z]+: (?:1\.10|100\.00|2\.50)$/, shows: /./ },
          { file: toFhirSuitePath('transactions'), title: / > numbers keep their text, /, shows: /1\\?\.10/ }
        ]
      },
      {
        server: 'It lacks 200 search parameters of the simple resources.',
        gateway: '400, by name if the server lists the type; `doctor` lists the missing filters and includes.',
        explains: [
          { file: attacks, title: / > A3 search: GET \/Questionnaire\?url=/, shows: /answered 400 in place of/ },
          { file: audited, title: / > (?:entity-name:exact|altid)=/, shows: /- +200,\n(?:.*\n)*? *\+ +400,/ },
          { file: toFhirSuitePath('reads-as-requested'), title: /composite search parameter|within it > (?:\/Observation\?code-value-date=|in a c)/, shows: /./ }
        ]
      },
      {
        server: 'It leaves out a reverse include that it does not know, with a note.',
        gateway: 'The response says that it may be incomplete, and of which type.',
        explains: [{ file: toSuitePath('resources/include'), title: /follow each reference that leads there > /, shows: /\+ +undefined,/ }]
      },
      {
        server: 'It takes no Bundle as a record of a transaction.',
        gateway: '422, nothing is done; such a Bundle is created by itself.',
        explains: [{ file: toFhirSuitePath('stored-bundles'), title: / > \{"resourceType":"OperationOutcome".*Nothing was done: the datastore rejected /, shows: /-200\n *\+422$/m }]
      },
      {
        server: 'It ignores `_count` of `$everything`.',
        gateway: 'The response is one page.',
        explains: [{ file: toFhirSuitePath('reads'), title: / > all about a patient comes at once, page by page > /, shows: /pages\.length > 1/ }]
      },
      {
        server: 'Its page links hold the whole search.',
        gateway: '400 `too-costly` where a search of many thousand characters has a second page.',
        explains: [{ file: toFhirSuitePath('searches'), title: / > page by page, longer than any URL$/, shows: /./ }]
      },
      {
        server: 'It pages by offset: a delete while a client pages moves the others to an earlier page.',
        gateway: 'It follows the links; clients that must miss nothing use an export.',
        explains: []
      },
      {
        server: 'It serves 76 types that its CapabilityStatement leaves out.',
        gateway: 'It reads, writes, exports and audits them; `doctor` lists them.',
        explains: []
      },
      {
        server: 'It ignores `start` and `end` of `$everything`.',
        gateway: '400, on every server that is not known to obey them; `doctor` reports `everything-dates`.',
        explains: []
      },
      {
        server: 'It ignores `If-Match` on a delete.',
        gateway: 'It checks the version just before the delete; `doctor` reports `if-match-on-delete`.',
        explains: []
      },
      {
        server: 'It sends records to Subscriptions, of all tenants.',
        gateway: 'It refuses them; `doctor` reports `no-subscriptions`.',
        explains: []
      }
    ]
  },
  helios: {
    title: 'Helios HFS 0.2.7 (Rust, SQLite)',
    date: '26 November 2026',
    differences: [
      ...ofBoth,
      {
        server: 'It ignores the URL of a search by form.',
        gateway: 'The tenant\'s tag is in the form too; `doctor` tries it (`tag-search-by-form`).',
        explains: []
      },
      {
        server: 'It takes no AuditEvent from clients.',
        gateway: '501; `doctor` reports `written-types`. Records of accesses (`auditLog.auditEvents`) cannot be kept there.',
        explains: [
          { file: toSuitePath('resources/documented-forms'), title: / > audit-events: .*"NOT_IMPLEMENTED"/, shows: /./ },
          // It begins with a record of each type.
          { file: toSuitePath('resources/erasure'), title: / > test\/resources\/erasure/, shows: /./ },
          { file: audited, title: /./, shows: /./ }
        ]
      },
      {
        server: 'It finds no token with an escaped `\\|`.',
        gateway: 'It is searched for as R4 says, and not found.',
        explains: [{ file: toFhirSuitePath('searches'), title: / > identifier=http:\/\/mrn%7Ca%5C%7C1$/, shows: /./ }]
      },
      {
        server: 'It does not say which entry of a transaction failed.',
        gateway: '422 for the whole Bundle, in place of 412 or 409 with the entry; nothing is done.',
        explains: [{
          file: toFhirSuitePath('transactions'),
          title: / > one entry that may not be done stops all > (?:If-Match on an update|a create that several meet)$/,
          shows: /\+ +"status": 422|\+undefined$/m
        }]
      },
      {
        server: 'It finds no period by the billionth of a second in which it ends.',
        gateway: 'The response is empty.',
        explains: [{ file: resources, title: / > dateTo finds what it should and sorts > dateTo=[^ ]*\.123456789/, shows: /ids: \[\]/ }]
      },
      {
        server: 'It does not count with `_count=0`.',
        gateway: 'It asks once more, with `_summary=count`.',
        explains: [{ file: toFhirSuitePath('calls'), title: / > \?_summary=count: 200$/, shows: /\+ +"GET",/ }]
      }
    ]
  }
}

/** The table of docs/how-to/datastores.md. */
export function formatServers (): string {
  return Object.values(servers)
    .map(({ title, date, differences }) => [
      `${title}, ${date}:`,
      '',
      '| the server | the gateway |',
      '|---|---|',
      ...differences.map(({ server, gateway }) => `| ${server} | ${gateway} |`)
    ].join('\n'))
    .join('\n\n')
}
