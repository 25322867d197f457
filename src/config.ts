/**
 * Every setting, once: the type, the check at the start, the JSON schema for editors and the table in the README come from here.
 * `env` names the variable that sets a property, `urlEnv` the one that sets the URL of the datastore it names,
 * `secretEnv` the one that holds in itself what the file of the property holds, `unit` is shown to readers.
 */
import { Type, type Static } from 'typebox'

const fileOf = (description: string, example: string) => Type.Optional(Type.String({ description, minLength: 1, examples: [`/run/secrets/${example}`] }))
const nameOf = (description: string, example: string) => Type.Optional(Type.String({ description, minLength: 1, examples: [example] }))

const datastoreAuth = Type.Object({
  type: Type.Enum(['none', 'basic', 'bearer', 'oauth2', 'azure'], { description: 'How the gateway authenticates itself there', default: 'none', examples: ['bearer'] }),
  username: nameOf('User of `basic`', 'gateway'),
  passwordEnv: nameOf('Variable that holds the password of `basic`', 'FHIR_PASSWORD'),
  passwordFile: fileOf('File that holds the password of `basic`; read again when it changes', 'fhir-password'),
  tokenEnv: nameOf('Variable that holds the token of `bearer`', 'FHIR_TOKEN'),
  tokenFile: fileOf('File that holds the token of `bearer`; read again when it changes', 'fhir-token'),
  tokenUrl: Type.Optional(Type.String({ description: 'Token endpoint of `oauth2`, for the grant client_credentials', format: 'base-url', examples: ['https://login.example.org/realms/clinic/protocol/openid-connect/token'] })),
  clientId: nameOf('The gateway\'s client id for `oauth2` and `azure`; for a managed identity only where it is user-assigned', 'clinigate'),
  clientAuthentication: Type.Optional(Type.Enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'tls_client_auth'], { description: 'How the gateway shows the token server of `oauth2` that it is this client; absent: client_secret_basic', examples: ['private_key_jwt'] })),
  clientSecretEnv: nameOf('Variable that holds the client secret', 'FHIR_CLIENT_SECRET'),
  clientSecretFile: fileOf('File that holds the client secret; read for each new token', 'fhir-client-secret'),
  keyFile: fileOf('Private key of `private_key_jwt` in PEM, RSA or EC; read for each new token', 'fhir-client-key.pem'),
  keyId: nameOf('Id of that key at the token server, `kid`', 'gateway-1'),
  keyHash: Type.Optional(Type.Enum(['SHA-256', 'SHA-384', 'SHA-512'], { description: 'Hash of a signature with RSA, as RS256, RS384 or RS512; that of EC comes with its curve. Absent: SHA-384', examples: ['SHA-256'] })),
  credential: Type.Optional(Type.Enum(['client-secret', 'certificate', 'managed-identity', 'workload-identity'], { description: 'Who the gateway is at Microsoft Entra ID for `azure`', examples: ['managed-identity'] })),
  tenantId: nameOf('Directory of `azure`', '<directory id>'),
  certificateFile: fileOf('Certificate and private key of `azure` in one PEM file', 'entra-client.pem'),
  authorityHost: Type.Optional(Type.String({ description: 'Where Entra ID is, in a national cloud; absent: the public one', format: 'base-url', examples: ['https://login.microsoftonline.us'] })),
  scope: nameOf('Scope to ask for; absent with `azure`: `/.default` behind the origin of the datastore', 'system/*.cruds'),
  resource: nameOf('Resource to ask for with `oauth2`, where the token server wants it (RFC 8707)', 'https://fhir.example.org'),
  audience: nameOf('Audience to ask for with `oauth2`, where the token server wants it', 'https://fhir.example.org'),
  caFile: Type.Optional(Type.String({ description: 'Certificate authorities of the token server in PEM, in place of the system\'s', minLength: 1, examples: ['/etc/ssl/hospital-ca.pem'] }))
}, { additionalProperties: false, default: {} })

const datastore = Type.Object({
  url: Type.String({
    description: 'Base URL of the FHIR R4 server. Write secrets under `auth`, never here',
    format: 'base-url',
    examples: ['https://fhir.example.org/fhir']
  }),
  caFile: Type.Optional(Type.String({ description: 'Certificate authorities in PEM in place of the system\'s; the certificate is always verified', minLength: 1, examples: ['/etc/ssl/hospital-ca.pem'] })),
  clientCertFile: Type.Optional(Type.String({ description: 'Certificate in PEM that the gateway shows there, with those between it and the authority', minLength: 1, examples: ['/run/secrets/fhir-client.pem'] })),
  clientKeyFile: Type.Optional(Type.String({ description: 'Private key of that certificate in PEM, without a passphrase', minLength: 1, examples: ['/run/secrets/fhir-client-key.pem'] })),
  headers: Type.Record(Type.String(), Type.Object({
    value: Type.Optional(Type.String({ description: 'What a header of this name says in every request; a secret belongs into `valueEnv` or `valueFile`', pattern: '^[ -~]+$', examples: ['Device'] })),
    valueEnv: Type.Optional(Type.String({ description: 'Variable that holds it', minLength: 1, examples: ['FHIR_SUBSCRIPTION_KEY'] })),
    valueFile: Type.Optional(Type.String({ description: 'File that holds it, read at the start', minLength: 1, examples: ['/run/secrets/fhir-subscription-key'] }))
  }, { additionalProperties: false }), { default: {} }),
  auth: datastoreAuth,
  import: Type.Enum(['transactions', 'own'], { description: 'How bulk imports write there: by transactions, or new records by the server\'s own `$import`, which fetches them from `bulk.importUrl`', default: 'transactions', examples: ['own'] }),
  connectTimeoutMs: Type.Integer({ description: 'Longest wait for a connection', unit: 'ms', minimum: 1, default: 5_000, examples: [5_000] }),
  headersTimeoutMs: Type.Integer({ description: 'Longest wait for the beginning of an answer', unit: 'ms', minimum: 1, default: 30_000, examples: [30_000] }),
  bodyTimeoutMs: Type.Integer({ description: 'Longest pause within an answer', unit: 'ms', minimum: 1, default: 15_000, examples: [15_000] }),
  totalTimeoutMs: Type.Integer({ description: 'Longest time for one answer as a whole, waiting for a connection and a second try included', unit: 'ms', minimum: 1, default: 60_000, examples: [60_000] }),
  maxResponseBytes: Type.Integer({ description: 'Largest answer that is read', unit: 'bytes', minimum: 65_536, default: 67_108_864, examples: [67_108_864] }),
  connections: Type.Integer({ description: 'Most connections at a time', minimum: 1, maximum: 10_000, default: 64, examples: [64] })
}, { additionalProperties: false })

const routing = Type.Object({
  test: Type.String({
    description: 'Datastore of all test keys; while it has no URL, a sandbox that is only for trying out',
    urlEnv: 'FHIR_TEST_URL',
    default: 'test',
    examples: ['test']
  }),
  live: Type.String({
    description: 'Datastore of live keys, but those of the plan enterprise; while it has no URL, a sandbox that is only for trying out',
    urlEnv: 'FHIR_LIVE_URL',
    default: 'live',
    examples: ['live']
  }),
  dedicated: Type.Record(Type.String(), Type.String(), {
    description: 'Datastore of each enterprise organization by its tenant id; one that is missing here is answered with 503',
    default: {},
    examples: [{ '<tenantId>': 'hospital-eu' }]
  })
}, { additionalProperties: false, default: {} })

const control = Type.Object({
  databaseUrlFile: Type.Optional(Type.String({
    description: 'File with the `postgres://` URL of the control plane\'s database, with `?sslmode=verify-full` when it is on another machine; absent: an SQLite file in the data directory',
    secretEnv: 'CONTROL_DATABASE_URL',
    minLength: 1,
    examples: ['/run/secrets/control-database-url']
  })),
  url: Type.Optional(Type.String({ description: 'Where a process of the role gateway finds the control plane', env: 'CONTROL_URL', format: 'base-url', examples: ['https://control.example.org'] })),
  gatewayTokenFile: Type.Optional(Type.String({
    description: 'File with the token that a process of the role gateway shows there',
    secretEnv: 'CLINIGATE_GATEWAY_TOKEN',
    minLength: 1,
    examples: ['/run/secrets/gateway-token']
  })),
  gatewayName: Type.Optional(Type.String({ description: 'Name of this gateway in the dashboard, different for each; absent: the name of the machine', env: 'CLINIGATE_GATEWAY_NAME', pattern: '^[\\w.-]{1,100}$', examples: ['gateway-1'] }))
}, { additionalProperties: false, default: {} })

const oidc = Type.Object({
  issuer: Type.String({ description: 'Issuer of the provider, whose metadata is found below it', format: 'base-url', examples: ['https://login.example.org/realms/clinic'] }),
  clientId: Type.String({ description: 'The dashboard\'s client id at the provider', minLength: 1, examples: ['clinigate'] }),
  clientSecretFile: Type.Optional(Type.String({ description: 'File with the client secret; absent, with its variable: a public client with PKCE alone', secretEnv: 'OIDC_CLIENT_SECRET', minLength: 1, examples: ['/run/secrets/oidc-client-secret'] })),
  label: Type.String({ description: 'What the button on the sign-in page says', minLength: 1, default: 'Sign in with your organization', examples: ['Sign in with Entra ID'] }),
  scope: Type.String({ description: 'Scopes to ask for', pattern: '^openid( [!-~]+)*$', default: 'openid email profile', examples: ['openid email profile groups'] }),
  roleClaim: Type.String({ description: 'Claim of the ID token that says the role', minLength: 1, default: 'role', examples: ['groups'] }),
  roles: Type.Record(Type.String(), Type.Enum(['operator', 'admin', 'viewer']), {
    description: 'Role for each value of that claim; whoever has none of them is refused',
    default: { operator: 'operator', admin: 'admin', viewer: 'viewer' },
    examples: [{ 'clinigate-operators': 'operator' }]
  }),
  organizationClaim: Type.String({ description: 'Claim of the ID token that says the tenant id; operators need none', minLength: 1, default: 'organization', examples: ['tenant'] })
}, { additionalProperties: false })

const dashboard = Type.Object({
  sessionIdleMinutes: Type.Integer({ description: 'A session ends when nothing was asked for so long', unit: 'minutes', minimum: 1, maximum: 1_440, default: 60, examples: [60] }),
  sessionHours: Type.Integer({ description: 'A session ends at the latest after', unit: 'hours', minimum: 1, maximum: 720, default: 12, examples: [12] }),
  gatewayUrl: Type.Optional(Type.String({ description: 'Address under which clients reach the gateways, for the commands that the dashboard shows; absent: the address of this process', format: 'base-url', examples: ['https://api.example.org'] })),
  localAccounts: Type.Boolean({ description: 'Whether people may sign in with a password kept here', default: true, examples: [true] }),
  oidc: Type.Optional(oidc)
}, { additionalProperties: false, default: {} })

const bulk = Type.Object({
  directory: Type.Optional(Type.String({ description: 'Where files of bulk jobs are kept, encrypted, until a day after the job; several gateways that are to take over each other\'s jobs share one; absent: `bulk` in the data directory', minLength: 1, examples: ['/mnt/clinigate-bulk'] })),
  jobsAtOnce: Type.Integer({ description: 'Most bulk jobs that this gateway works on at a time; others wait', minimum: 1, maximum: 100, default: 4, examples: [4] }),
  jobsPerOrganization: Type.Integer({ description: 'Most bulk jobs of one organization at a time, over all gateways', minimum: 1, maximum: 100, default: 2, examples: [2] }),
  importHosts: Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:\\d{1,5})?$' }), { description: 'Hosts from which imports may fetch their records by https, with a port where it is not 443; none unless told', default: [], examples: [['files.example.org']] }),
  importUrl: Type.Optional(Type.String({ description: 'Address under which the datastores whose `import` is `own` reach this very gateway, each one its own; absent: they are written to by transactions', format: 'base-url', examples: ['http://gateway-1.internal:8080'] })),
  lineBytes: Type.Integer({ description: 'Longest line of an import', unit: 'bytes', minimum: 65_536, maximum: 134_217_728, default: 16_777_216, examples: [16_777_216] }),
  reserveBytes: Type.Integer({ description: 'What bulk jobs leave free on the disk of their files; with less, they wait', unit: 'bytes', minimum: 0, default: 268_435_456, examples: [268_435_456] })
}, { additionalProperties: false, default: {} })

const metrics = Type.Object({
  port: Type.Optional(Type.Integer({ description: 'Port on which Prometheus reads `/metrics`, without a key; absent: nothing is measured', env: 'METRICS_PORT', minimum: 1, maximum: 65_535, examples: [9464] })),
  host: Type.String({ description: 'Address of that port, which no client of the API should reach', env: 'METRICS_HOST', minLength: 1, default: '127.0.0.1', examples: ['10.0.0.5'] })
}, { additionalProperties: false, default: {} })

const overload = Type.Object({
  eventLoopDelayMs: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Requests are refused with 503 while everything in the process waits so long for its turn, on average over a second; null: never', unit: 'ms', minimum: 20, default: 500, examples: [500] }),
  heapPercent: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'The same while this part of the memory that Node may use for objects is taken', unit: 'percent', minimum: 10, maximum: 100, default: 90, examples: [90] }),
  rssBytes: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'The same while the process as a whole takes so much memory: a little less than it may', unit: 'bytes', minimum: 134_217_728, default: null, examples: [1_073_741_824] })
}, { additionalProperties: false, default: {} })

const auditLog = Type.Object({
  file: Type.Optional(Type.String({ description: 'File of the access audit log: who did what to which record, one line of JSON each, chained by hashes. Each process needs one of its own; absent: none is written', env: 'AUDIT_LOG_FILE', minLength: 1, examples: ['/var/log/clinigate/access.log'] })),
  isRequired: Type.Boolean({ description: 'Whether an answer waits until its lines are on the disk, and requests are refused with 503 while they can\'t be written; false: answers go out before their lines', default: true, examples: [false] }),
  namesShown: Type.Boolean({ description: 'Whether the lines of searches name every record that was shown, and not only how many', default: false, examples: [true] }),
  fileBytes: Type.Integer({ description: 'Size from which on another file is begun, as each day in UTC; the full one gets a number and is never deleted by the gateway', unit: 'bytes', minimum: 65_536, default: 104_857_600, examples: [104_857_600] }),
  auditEvents: Type.Boolean({ description: 'Whether each access also becomes an AuditEvent of the organization in its own datastore, a moment later; the file has all of them, whatever the datastore takes', default: false, examples: [true] })
}, { additionalProperties: false, default: {} })

/** The configuration file and environment, as one schema. */
export const configSchema = Type.Object({
  $schema: Type.Optional(Type.String({ description: 'For editors', examples: ['./clinigate.schema.json'] })),
  role: Type.Enum(['all', 'gateway', 'control'], { description: 'What this process is: the gateway, the control plane with its dashboard, or both', env: 'CLINIGATE_ROLE', default: 'all', examples: ['gateway'] }),
  dataDirectory: Type.String({ description: 'Where the gateway keeps its own databases and generated secrets', env: 'CLINIGATE_DATA', minLength: 1, default: './data', examples: ['/var/lib/clinigate'] }),
  host: Type.String({ description: 'Address that the gateway listens on', env: 'HOST', minLength: 1, default: '127.0.0.1', examples: ['0.0.0.0'] }),
  port: Type.Integer({ description: 'Port that the gateway listens on; 0 takes a free one', env: 'PORT', minimum: 0, maximum: 65_535, default: 8080, examples: [8080] }),
  publicUrl: Type.Optional(Type.String({ description: 'Address under which clients reach the gateway; absent: host and port', env: 'PUBLIC_URL', format: 'base-url', examples: ['https://api.example.org'] })),
  trustedProxies: Type.Optional(Type.String({
    description: 'Addresses and networks of the proxies before this process, with commas between: the address that they say a request came from is believed. Absent: an address is that of the connection',
    env: 'TRUSTED_PROXIES',
    format: 'addresses',
    examples: ['10.0.0.0/8, 2001:db8::1']
  })),
  drainSeconds: Type.Integer({
    description: 'How long a process that was asked to end goes on serving while `/health/ready` answers 503, so that a load balancer stops sending before the port closes: a little longer than it takes to notice',
    env: 'DRAIN_SECONDS',
    unit: 'seconds',
    minimum: 0,
    maximum: 600,
    default: 0,
    examples: [10]
  }),
  logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { description: 'The least important line that the log holds', env: 'LOG_LEVEL', default: 'info', examples: ['warn'] }),
  tenantSystem: Type.String({
    description: 'System of the tag that marks the owner of each resource. Never change it once there is data: all of it would become invisible',
    env: 'TENANT_SYSTEM',
    pattern: '^[^\\s|,$\\\\]+$',
    default: 'urn:clinigate:tenant',
    examples: ['urn:clinigate:tenant']
  }),
  plansFile: Type.Optional(Type.String({ description: 'Plans in place of `config/plans.json`', env: 'CLINIGATE_PLANS', minLength: 1, examples: ['/etc/clinigate/plans.json'] })),
  datastores: Type.Record(Type.String(), datastore, { description: 'FHIR servers by a name of your choice', default: {} }),
  routing,
  control,
  dashboard,
  keys: Type.Object({
    maxStalenessMinutes: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'How old the local copy of the keys may become before every key is refused; null: any age',
      unit: 'minutes',
      exclusiveMinimum: 0,
      default: null,
      examples: [60]
    })
  }, { additionalProperties: false, default: {} }),
  cursor: Type.Object({
    secretFile: Type.Optional(Type.String({
      description: 'File with 32 bytes in base64 that seal the cursors, the same for all gateways; absent: one is made in the data directory',
      minLength: 1,
      examples: ['/run/secrets/clinigate-cursor']
    }))
  }, { additionalProperties: false, default: {} }),
  limits: Type.Object({
    bodyBytes: Type.Integer({ description: 'Largest request body of a simple resource', unit: 'bytes', minimum: 1_024, maximum: 67_108_864, default: 1_048_576, examples: [1_048_576] }),
    redisUrlFile: Type.Optional(Type.String({
      description: 'File with the `redis://` or `rediss://` URL of the server on which several gateways count requests per minute together; absent: each counts for itself',
      secretEnv: 'REDIS_URL',
      minLength: 1,
      examples: ['/run/secrets/redis-url']
    })),
    failedAttemptsPerMinute: Type.Integer({ description: 'Requests without a good key that an address may send in a minute before they are answered with 429; a good key is served from any address', minimum: 1, default: 300, examples: [300] }),
    connections: Type.Integer({ description: 'Most connections of clients that are open at a time; a new one beyond them is closed at once', minimum: 10, maximum: 1_000_000, default: 10_000, examples: [10_000] }),
    inFlightPerOrganization: Type.Integer({ description: 'Most requests of an organization that are worked on at a time, test and live apart; 32 times as many may wait for their turn', minimum: 1, maximum: 10_000, default: 32, examples: [32] }),
    bundleBytes: Type.Integer({ description: 'Largest request body of raw FHIR, where a Bundle may come', unit: 'bytes', minimum: 1_024, maximum: 268_435_456, default: 16_777_216, examples: [16_777_216] })
  }, { additionalProperties: false, default: {} }),
  overload,
  bulk,
  metrics,
  auditLog
}, { additionalProperties: false, title: 'clinigate configuration' })

/** The file of plans: what an organization may use, by the plan's name. `null` is unlimited. */
export const plansSchema = Type.Record(Type.String(), Type.Object({
  requestsPerMinute: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, description: 'Over all keys of the organization, test and live apart' }),
  requestsPerMonth: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, description: 'Test and live have a pool of this size each' }),
  overage: Type.Boolean({ description: 'Whether live requests beyond the month are served and billed, unless the organization switched it off' })
}, { additionalProperties: false }), { minProperties: 1 })

/** A value of which nothing may be changed, at any depth. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** What an organization may use. */
export type Plan = Plans[string]

/** All plans by name. */
export type Plans = DeepReadonly<Static<typeof plansSchema>>

/** One FHIR server, as configured; the secrets stay where `auth` points. */
export type DatastoreConfig = Config['datastores'][string]

/** The checked, complete and frozen configuration. It holds no secret. */
export type Config = DeepReadonly<Static<typeof configSchema>> & { readonly plans: Plans }
