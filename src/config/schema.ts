/**
 * Every setting, once: the type, the check at the start, the JSON schema for editors and the table in docs/reference/configuration.md come from here.
 * `env` names the variable that sets a property, `urlEnv` the one that sets the URL of the datastore it names,
 * `secretEnv` the one that holds in itself what the file of the property holds, `unit` is shown to readers.
 */
import { Type, type Static } from 'typebox'
import { roles } from './actor.js'

const fileOf = (description: string, example: string) => Type.Optional(Type.String({ description, minLength: 1, examples: [`/run/secrets/${example}`] }))
const nameOf = (description: string, example: string) => Type.Optional(Type.String({ description, minLength: 1, examples: [example] }))

const datastoreAuth = Type.Object({
  type: Type.Enum(['none', 'basic', 'bearer', 'oauth2', 'azure'], { description: 'How the gateway authenticates to this server', default: 'none', examples: ['bearer'] }),
  username: nameOf('User name for `basic`', 'gateway'),
  passwordEnv: nameOf('Environment variable with the password for `basic`', 'FHIR_PASSWORD'),
  passwordFile: fileOf('File with the password for `basic`; reread when it changes', 'fhir-password'),
  tokenEnv: nameOf('Environment variable with the token for `bearer`', 'FHIR_TOKEN'),
  tokenFile: fileOf('File with the token for `bearer`; reread when it changes', 'fhir-token'),
  tokenUrl: Type.Optional(Type.String({ description: 'Token endpoint for `oauth2` (client credentials grant)', format: 'base-url', examples: ['https://login.example.org/realms/clinic/protocol/openid-connect/token'] })),
  clientId: nameOf('Client id of the gateway for `oauth2` and `azure`. A managed identity needs it only if it is user-assigned', 'clinigate'),
  clientAuthentication: Type.Optional(Type.Enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'tls_client_auth'], { description: 'How the gateway authenticates to the `oauth2` token server. If absent: client_secret_basic', examples: ['private_key_jwt'] })),
  clientSecretEnv: nameOf('Environment variable with the client secret', 'FHIR_CLIENT_SECRET'),
  clientSecretFile: fileOf('File with the client secret; reread for each new token', 'fhir-client-secret'),
  keyFile: fileOf('Private key for `private_key_jwt` (PEM, RSA or EC); reread for each new token', 'fhir-client-key.pem'),
  keyId: nameOf('Id of that key at the token server (`kid`)', 'gateway-1'),
  keyHash: Type.Optional(Type.Enum(['SHA-256', 'SHA-384', 'SHA-512'], { description: 'Hash for RSA signatures (RS256, RS384 or RS512); for EC keys the curve determines it. If absent: SHA-384', examples: ['SHA-256'] })),
  credential: Type.Optional(Type.Enum(['client-secret', 'certificate', 'managed-identity', 'workload-identity'], { description: 'Kind of Microsoft Entra ID credential for `azure`', examples: ['managed-identity'] })),
  tenantId: nameOf('Entra ID directory (tenant) for `azure`', '<directory id>'),
  certificateFile: fileOf('Certificate and private key for `azure` in one PEM file', 'entra-client.pem'),
  authorityHost: Type.Optional(Type.String({ description: 'Entra ID endpoint of a national cloud. If absent: the public cloud', format: 'base-url', examples: ['https://login.microsoftonline.us'] })),
  scope: nameOf('Scope to request. If absent with `azure`: the datastore\'s origin followed by `/.default`', 'system/*.cruds'),
  resource: nameOf('Resource to request with `oauth2`, if the token server needs one (RFC 8707)', 'https://fhir.example.org'),
  audience: nameOf('Audience to request with `oauth2`, if the token server needs one', 'https://fhir.example.org'),
  caFile: Type.Optional(Type.String({ description: 'Certificate authorities for the token server (PEM), used instead of the system\'s', minLength: 1, examples: ['/etc/ssl/hospital-ca.pem'] }))
}, { additionalProperties: false, default: {} })

const datastore = Type.Object({
  url: Type.String({
    description: 'Base URL of the FHIR R4 server. Secrets belong under `auth`, never here',
    format: 'base-url',
    examples: ['https://fhir.example.org/fhir']
  }),
  caFile: Type.Optional(Type.String({ description: 'Certificate authorities (PEM), used instead of the system\'s. The certificate is always verified', minLength: 1, examples: ['/etc/ssl/hospital-ca.pem'] })),
  clientCertFile: Type.Optional(Type.String({ description: 'Client certificate (PEM), including intermediate certificates', minLength: 1, examples: ['/run/secrets/fhir-client.pem'] })),
  clientKeyFile: Type.Optional(Type.String({ description: 'Private key of the client certificate (PEM, without a passphrase)', minLength: 1, examples: ['/run/secrets/fhir-client-key.pem'] })),
  headers: Type.Record(Type.String(), Type.Object({
    value: Type.Optional(Type.String({ description: 'Value of this header on every request. Put secrets in `valueEnv` or `valueFile` instead', pattern: '^[ -~]+$', examples: ['Device'] })),
    valueEnv: Type.Optional(Type.String({ description: 'Environment variable with the value', minLength: 1, examples: ['FHIR_SUBSCRIPTION_KEY'] })),
    valueFile: Type.Optional(Type.String({ description: 'File with the value, read at startup', minLength: 1, examples: ['/run/secrets/fhir-subscription-key'] }))
  }, { additionalProperties: false }), { default: {} }),
  auth: datastoreAuth,
  import: Type.Enum(['transactions', 'own'], { description: 'How bulk imports write to this server: with transactions, or (`own`), for new records, with the server\'s native `$import`, which fetches them from `bulk.importUrl`', default: 'transactions', examples: ['own'] }),
  connectTimeoutMs: Type.Integer({ description: 'Maximum wait for a connection', unit: 'ms', minimum: 1, default: 5_000, examples: [5_000] }),
  headersTimeoutMs: Type.Integer({ description: 'Maximum wait for the start of a response', unit: 'ms', minimum: 1, default: 30_000, examples: [30_000] }),
  bodyTimeoutMs: Type.Integer({ description: 'Maximum pause within a response', unit: 'ms', minimum: 1, default: 15_000, examples: [15_000] }),
  totalTimeoutMs: Type.Integer({ description: 'Maximum total time for a response, including the wait for a connection and a retry', unit: 'ms', minimum: 1, default: 60_000, examples: [60_000] }),
  maxResponseBytes: Type.Integer({ description: 'Maximum response size', unit: 'bytes', minimum: 65_536, default: 67_108_864, examples: [67_108_864] }),
  connections: Type.Integer({ description: 'Maximum concurrent connections', minimum: 1, maximum: 10_000, default: 64, examples: [64] })
}, { additionalProperties: false })

const routing = Type.Object({
  test: Type.String({
    description: 'Datastore for all test keys. Without a URL, an embedded sandbox is used, for evaluation only',
    urlEnv: 'FHIR_TEST_URL',
    default: 'test',
    examples: ['test']
  }),
  live: Type.String({
    description: 'Datastore for live keys, except those of the plan enterprise. Without a URL, an embedded sandbox is used, for evaluation only',
    urlEnv: 'FHIR_LIVE_URL',
    default: 'live',
    examples: ['live']
  }),
  dedicated: Type.Record(Type.String(), Type.String(), {
    description: 'Datastore of each enterprise organization, by tenant id. An enterprise organization that is missing here gets 503',
    default: {},
    examples: [{ '<tenantId>': 'hospital-eu' }]
  })
}, { additionalProperties: false, default: {} })

const control = Type.Object({
  databaseUrlFile: Type.Optional(Type.String({
    description: 'File with the `postgres://` URL of the control plane\'s database; use `?sslmode=verify-full` if it is on another machine. If absent: an SQLite file in the data directory',
    secretEnv: 'CONTROL_DATABASE_URL',
    minLength: 1,
    examples: ['/run/secrets/control-database-url']
  })),
  url: Type.Optional(Type.String({ description: 'URL of the control plane, for the role gateway', env: 'CONTROL_URL', format: 'base-url', examples: ['https://control.example.org'] })),
  gatewayTokenFile: Type.Optional(Type.String({
    description: 'File with the gateway token for the control plane, for the role gateway',
    secretEnv: 'CLINIGATE_GATEWAY_TOKEN',
    minLength: 1,
    examples: ['/run/secrets/gateway-token']
  })),
  gatewayName: Type.Optional(Type.String({ description: 'Name of this gateway in the dashboard, unique for each gateway. If absent: the host name', env: 'CLINIGATE_GATEWAY_NAME', pattern: '^[\\w.-]{1,100}$', examples: ['gateway-1'] }))
}, { additionalProperties: false, default: {} })

const oidc = Type.Object({
  issuer: Type.String({ description: 'Issuer URL of the provider, used for discovery', format: 'base-url', examples: ['https://login.example.org/realms/clinic'] }),
  clientId: Type.String({ description: 'Client id of the dashboard at the provider', minLength: 1, examples: ['clinigate'] }),
  clientSecretFile: Type.Optional(Type.String({ description: 'File with the client secret. If both file and variable are absent: a public client with PKCE only', secretEnv: 'OIDC_CLIENT_SECRET', minLength: 1, examples: ['/run/secrets/oidc-client-secret'] })),
  label: Type.String({ description: 'Label of the button on the sign-in page', minLength: 1, default: 'Sign in with your organization', examples: ['Sign in with Entra ID'] }),
  scope: Type.String({ description: 'Scopes to request', pattern: '^openid( [!-~]+)*$', default: 'openid email profile', examples: ['openid email profile groups'] }),
  roleClaim: Type.String({ description: 'ID token claim with the role', minLength: 1, default: 'role', examples: ['groups'] }),
  roles: Type.Record(Type.String(), Type.Enum(roles), {
    description: 'Role for each value of that claim. People without any of these values are refused',
    default: { operator: 'operator', admin: 'admin', viewer: 'viewer' },
    examples: [{ 'clinigate-operators': 'operator' }]
  }),
  organizationClaim: Type.String({ description: 'ID token claim with the tenant id; operators do not need it', minLength: 1, default: 'organization', examples: ['tenant'] })
}, { additionalProperties: false })

const dashboard = Type.Object({
  sessionIdleMinutes: Type.Integer({ description: 'Sessions end after this long without a request', unit: 'minutes', minimum: 1, maximum: 1_440, default: 60, examples: [60] }),
  sessionHours: Type.Integer({ description: 'Maximum session lifetime', unit: 'hours', minimum: 1, maximum: 720, default: 12, examples: [12] }),
  gatewayUrl: Type.Optional(Type.String({ description: 'Public URL of the gateways, for the commands that the dashboard shows. If absent: the address of this process', format: 'base-url', examples: ['https://api.example.org'] })),
  localAccounts: Type.Boolean({ description: 'Allow people to sign in with a local password', default: true, examples: [true] }),
  oidc: Type.Optional(oidc)
}, { additionalProperties: false, default: {} })

const bulk = Type.Object({
  directory: Type.Optional(Type.String({ description: 'Directory for the files of bulk jobs, encrypted and kept until a day after the job. Gateways that take over each other\'s jobs must share it. If absent: `bulk` in the data directory', minLength: 1, examples: ['/mnt/clinigate-bulk'] })),
  jobsAtOnce: Type.Integer({ description: 'Maximum bulk jobs that this gateway runs concurrently; others wait', minimum: 1, maximum: 100, default: 4, examples: [4] }),
  jobsPerOrganization: Type.Integer({ description: 'Maximum concurrent bulk jobs per organization, across all gateways', minimum: 1, maximum: 100, default: 2, examples: [2] }),
  importHosts: Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:\\d{1,5})?$' }), { description: 'Hosts from which imports may fetch records over https, with the port if it is not 443; none by default', default: [], examples: [['files.example.org']] }),
  importUrl: Type.Optional(Type.String({ description: 'URL at which datastores with `import` set to `own` reach this gateway, different for each gateway. If absent: imports use transactions', format: 'base-url', examples: ['http://gateway-1.internal:8080'] })),
  lineBytes: Type.Integer({ description: 'Maximum length of an import line', unit: 'bytes', minimum: 65_536, maximum: 134_217_728, default: 16_777_216, examples: [16_777_216] }),
  organizationBytes: Type.Optional(Type.Integer({ description: 'Maximum disk space in this directory for the bulk files of an organization, live and test apart. Files of jobs that ended count until they are deleted. If absent: half of the disk', unit: 'bytes', minimum: 1_048_576, examples: [107_374_182_400] })),
  reserveBytes: Type.Integer({ description: 'Disk space that bulk jobs leave free; they wait while less is available', unit: 'bytes', minimum: 0, default: 268_435_456, examples: [268_435_456] })
}, { additionalProperties: false, default: {} })

const metrics = Type.Object({
  port: Type.Optional(Type.Integer({ description: 'Port on which Prometheus reads `/metrics`, without a key. If absent: metrics are off', env: 'METRICS_PORT', minimum: 1, maximum: 65_535, examples: [9464] })),
  host: Type.String({ description: 'Address that the metrics port listens on. API clients should not be able to reach it', env: 'METRICS_HOST', minLength: 1, default: '127.0.0.1', examples: ['10.0.0.5'] })
}, { additionalProperties: false, default: {} })

const overload = Type.Object({
  eventLoopDelayMs: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Refuse requests with 503 while the event-loop delay averages more than this over a second; null: never', unit: 'ms', minimum: 20, default: 500, examples: [500] }),
  heapPercent: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Refuse requests with 503 while more than this share of Node\'s heap limit is in use; null: never', unit: 'percent', minimum: 10, maximum: 100, default: 90, examples: [90] }),
  rssBytes: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Refuse requests with 503 while the process uses more resident memory than this; set it slightly below the process\'s memory limit. null: never', unit: 'bytes', minimum: 134_217_728, default: null, examples: [1_073_741_824] })
}, { additionalProperties: false, default: {} })

const auditLog = Type.Object({
  file: Type.Optional(Type.String({ description: 'File for the access audit log: who did what to which record, as hash-chained JSON lines. Each process needs its own file. If absent: no access audit log', env: 'AUDIT_LOG_FILE', minLength: 1, examples: ['/var/log/clinigate/access.log'] })),
  isRequired: Type.Boolean({ description: 'Hold each response until its lines are on disk, and refuse requests with 503 while they cannot be written. false: responses do not wait', default: true, examples: [false] }),
  namesShown: Type.Boolean({ description: 'Log the id of every record that a search returned, not only their number', default: false, examples: [true] }),
  fileBytes: Type.Integer({ description: 'Size at which the file is rotated; it is also rotated daily (UTC). Rotated files are numbered and never deleted by the gateway', unit: 'bytes', minimum: 65_536, default: 104_857_600, examples: [104_857_600] }),
  auditEvents: Type.Boolean({ description: 'Also store each access as an AuditEvent of the organization in its own datastore, shortly afterwards. The file is complete even if the datastore is not', default: false, examples: [true] })
}, { additionalProperties: false, default: {} })

/** The configuration file and environment, as one schema. */
export const configSchema = Type.Object({
  $schema: Type.Optional(Type.String({ description: 'For editors', examples: ['./clinigate.schema.json'] })),
  role: Type.Enum(['all', 'gateway', 'control'], { description: 'What this process runs: the gateway, the control plane with its dashboard, or both', env: 'CLINIGATE_ROLE', default: 'all', examples: ['gateway'] }),
  dataDirectory: Type.String({ description: 'Directory for the process\'s own databases and generated secrets', env: 'CLINIGATE_DATA', minLength: 1, default: './data', examples: ['/var/lib/clinigate'] }),
  host: Type.String({ description: 'Address that the gateway listens on', env: 'HOST', minLength: 1, default: '127.0.0.1', examples: ['0.0.0.0'] }),
  port: Type.Integer({ description: 'Port that the gateway listens on; 0 picks a free port', env: 'PORT', minimum: 0, maximum: 65_535, default: 8080, examples: [8080] }),
  publicUrl: Type.Optional(Type.String({ description: 'Public URL of the gateway. If absent: host and port', env: 'PUBLIC_URL', format: 'base-url', examples: ['https://api.example.org'] })),
  trustedProxies: Type.Optional(Type.String({
    description: 'Comma-separated addresses and networks of trusted reverse proxies, whose forwarded client address is believed. If absent: the address of the connection counts',
    env: 'TRUSTED_PROXIES',
    format: 'addresses',
    examples: ['10.0.0.0/8, 2001:db8::1']
  })),
  drainSeconds: Type.Integer({
    description: 'How long the process keeps serving after SIGTERM while `/health/ready` answers 503. Set it slightly longer than the load balancer needs to notice',
    env: 'DRAIN_SECONDS',
    unit: 'seconds',
    minimum: 0,
    maximum: 600,
    default: 0,
    examples: [10]
  }),
  logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { description: 'Minimum log level', env: 'LOG_LEVEL', default: 'info', examples: ['warn'] }),
  tenantSystem: Type.String({
    description: 'System of the tag that marks the owner of each resource. Never change it once there is data: all existing records would become invisible',
    env: 'TENANT_SYSTEM',
    pattern: '^[^\\s|,$\\\\]+$',
    default: 'urn:clinigate:tenant',
    examples: ['urn:clinigate:tenant']
  }),
  plansFile: Type.Optional(Type.String({ description: 'File with plans, used instead of `config/plans.json`', env: 'CLINIGATE_PLANS', minLength: 1, examples: ['/etc/clinigate/plans.json'] })),
  datastores: Type.Record(Type.String(), datastore, { description: 'FHIR servers, each under a name of your choice', default: {} }),
  routing,
  control,
  dashboard,
  keys: Type.Object({
    maxStalenessMinutes: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'Maximum age of the local key copy; when it is older, every key is refused. null: no limit',
      unit: 'minutes',
      exclusiveMinimum: 0,
      default: null,
      examples: [60]
    })
  }, { additionalProperties: false, default: {} }),
  cursor: Type.Object({
    secretFile: Type.Optional(Type.String({
      description: 'File with the 32-byte key (base64) that seals cursors, the same on all gateways. If absent: generated in the data directory',
      minLength: 1,
      examples: ['/run/secrets/clinigate-cursor']
    }))
  }, { additionalProperties: false, default: {} }),
  limits: Type.Object({
    bodyBytes: Type.Integer({ description: 'Maximum request body of a simple resource', unit: 'bytes', minimum: 1_024, maximum: 67_108_864, default: 1_048_576, examples: [1_048_576] }),
    redisUrlFile: Type.Optional(Type.String({
      description: 'File with the `redis://` or `rediss://` URL of the server on which gateways share their per-minute counts. If absent: each gateway counts alone',
      secretEnv: 'REDIS_URL',
      minLength: 1,
      examples: ['/run/secrets/redis-url']
    })),
    failedAttemptsPerMinute: Type.Integer({ description: 'Requests without a valid key that one address may send per minute; further ones get 429. Valid keys are served from any address', minimum: 1, default: 300, examples: [300] }),
    connections: Type.Integer({ description: 'Maximum open client connections; new ones beyond this are closed at once', minimum: 10, maximum: 1_000_000, default: 10_000, examples: [10_000] }),
    inFlightPerOrganization: Type.Integer({ description: 'Maximum concurrent requests per organization (test and live counted separately). Up to 32 times as many may queue', minimum: 1, maximum: 10_000, default: 32, examples: [32] }),
    bundleBytes: Type.Integer({ description: 'Maximum request body of raw FHIR, including Bundles', unit: 'bytes', minimum: 1_024, maximum: 268_435_456, default: 16_777_216, examples: [16_777_216] })
  }, { additionalProperties: false, default: {} }),
  overload,
  bulk,
  metrics,
  auditLog
}, { additionalProperties: false, title: 'clinigate configuration' })

/** The file of plans: what an organization may use, by plan name. `null` is unlimited. */
export const plansSchema = Type.Record(Type.String(), Type.Object({
  requestsPerMinute: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, description: 'Across all keys of the organization, test and live counted separately' }),
  requestsPerMonth: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, description: 'Test and live each have a quota of this size' }),
  overage: Type.Boolean({ description: 'Serve and bill live requests beyond the monthly quota, unless the organization switched it off' })
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
