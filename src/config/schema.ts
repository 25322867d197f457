/**
 * Every setting, once: the type, the check at the start, the JSON schema for editors and the table in
 * docs/reference/configuration.md come from here.
 * `env` names the variable that sets a property, `urlEnv` the one that sets the URL of the datastore it names,
 * `secretEnv` the one that holds in itself what the file of the property holds, `unit` is shown to readers.
 */
import { Type, type Static } from 'typebox'
import { datastore, routing } from './schema-datastores.js'
import { control, dashboard, webhooks } from './schema-control-plane.js'
import { bulk, events, metrics, overload, auditLog } from './schema-operation.js'

/** The configuration file and environment, as one schema. */
export const configSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String({ description: 'For editors', examples: ['./clinigate.schema.json'] })),
    role: Type.Enum(['all', 'gateway', 'control', 'worker'], {
      description:
        'What this process runs: the gateway, the control plane with its dashboard, both (`all`), or bulk jobs alone (`worker`)',
      env: 'CLINIGATE_ROLE',
      default: 'all',
      examples: ['gateway']
    }),
    processes: Type.Integer({
      description:
        'How many processes serve the port together, for a machine with several processors. Their limits hold together, and one that ends is started again. Roles `all` and `gateway` with FHIR servers of your own only',
      env: 'CLINIGATE_PROCESSES',
      minimum: 1,
      maximum: 64,
      default: 1,
      examples: [4]
    }),
    dataDirectory: Type.String({
      description: "Directory for the process's own databases and generated secrets",
      env: 'CLINIGATE_DATA',
      minLength: 1,
      default: './data',
      examples: ['/var/lib/clinigate']
    }),
    host: Type.String({
      description: 'Address that the gateway listens on',
      env: 'HOST',
      minLength: 1,
      default: '127.0.0.1',
      examples: ['0.0.0.0']
    }),
    port: Type.Integer({
      description: 'Port that the gateway listens on; 0 picks a free port',
      env: 'PORT',
      minimum: 0,
      maximum: 65_535,
      default: 8080,
      examples: [8080]
    }),
    publicUrl: Type.Optional(
      Type.String({
        description: 'Public URL of the gateway. If absent: host and port',
        env: 'PUBLIC_URL',
        format: 'base-url',
        examples: ['https://api.example.org']
      })
    ),
    trustedProxies: Type.Optional(
      Type.String({
        description:
          'Comma-separated addresses and networks of trusted reverse proxies, whose forwarded client address is believed. If absent: the address of the connection counts',
        env: 'TRUSTED_PROXIES',
        format: 'addresses',
        examples: ['10.0.0.0/8, 2001:db8::1']
      })
    ),
    drainSeconds: Type.Integer({
      description:
        'How long the process keeps serving after SIGTERM while `/health/ready` answers 503. Set it slightly longer than the load balancer needs to notice',
      env: 'DRAIN_SECONDS',
      unit: 'seconds',
      minimum: 0,
      maximum: 600,
      default: 0,
      examples: [10]
    }),
    logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'Minimum log level',
      env: 'LOG_LEVEL',
      default: 'info',
      examples: ['warn']
    }),
    tenantSystem: Type.String({
      description:
        'System of the tag that marks the owner of each resource. Never change it once there is data: all existing records would become invisible',
      env: 'TENANT_SYSTEM',
      pattern: '^[^\\s|,$\\\\]+$',
      default: 'urn:clinigate:tenant',
      examples: ['urn:clinigate:tenant']
    }),
    plansFile: Type.Optional(
      Type.String({
        description: 'File with plans, used instead of `config/plans.json`',
        env: 'CLINIGATE_PLANS',
        minLength: 1,
        examples: ['/etc/clinigate/plans.json']
      })
    ),
    datastores: Type.Record(Type.String(), datastore, {
      description: 'FHIR servers, each under a name of your choice',
      default: {}
    }),
    routing,
    control,
    dashboard,
    keys: Type.Object(
      {
        maxStalenessMinutes: Type.Unsafe<number | null>({
          type: ['number', 'null'],
          description: 'Maximum age of the local key copy; when it is older, every key is refused. null: no limit',
          unit: 'minutes',
          exclusiveMinimum: 0,
          default: null,
          examples: [60]
        })
      },
      { additionalProperties: false, default: {} }
    ),
    cursor: Type.Object(
      {
        secretFile: Type.Optional(
          Type.String({
            description:
              'File with the 32-byte key (base64) that seals cursors, the same on all gateways. If absent: generated in the data directory',
            minLength: 1,
            examples: ['/run/secrets/clinigate-cursor']
          })
        )
      },
      { additionalProperties: false, default: {} }
    ),
    limits: Type.Object(
      {
        bodyBytes: Type.Integer({
          description: 'Maximum request body of a simple resource',
          unit: 'bytes',
          minimum: 1_024,
          maximum: 67_108_864,
          default: 1_048_576,
          examples: [1_048_576]
        }),
        redisUrlFile: Type.Optional(
          Type.String({
            description:
              'File with the `redis://` or `rediss://` URL of the server on which gateways share their per-minute counts and the requests with an `Idempotency-Key`. If absent: each gateway has its own',
            secretEnv: 'REDIS_URL',
            minLength: 1,
            examples: ['/run/secrets/redis-url']
          })
        ),
        failedAttemptsPerMinute: Type.Integer({
          description:
            'Requests without a valid key that one address may send per minute; further ones get 429. Valid keys are served from any address',
          minimum: 1,
          default: 300,
          examples: [300]
        }),
        connections: Type.Integer({
          description: 'Maximum open client connections; new ones beyond this are closed at once',
          minimum: 10,
          maximum: 1_000_000,
          default: 10_000,
          examples: [10_000]
        }),
        inFlightPerOrganization: Type.Integer({
          description:
            'Maximum concurrent requests per organization (test and live counted separately). Up to 32 times as many may queue',
          minimum: 1,
          maximum: 10_000,
          default: 32,
          examples: [32]
        }),
        bundleBytes: Type.Integer({
          description: 'Maximum request body of raw FHIR, including Bundles',
          unit: 'bytes',
          minimum: 1_024,
          maximum: 268_435_456,
          default: 16_777_216,
          examples: [16_777_216]
        })
      },
      { additionalProperties: false, default: {} }
    ),
    overload,
    bulk,
    webhooks,
    metrics,
    auditLog,
    events
  },
  { additionalProperties: false, title: 'clinigate configuration' }
)

/** The file of plans: what an organization may use, by plan name. `null` is unlimited. */
export const plansSchema = Type.Record(
  Type.String(),
  Type.Object(
    {
      requestsPerMinute: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        description: 'Across all keys of the organization, test and live counted separately'
      }),
      requestsPerMonth: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 1,
        description: 'Test and live each have a quota of this size'
      }),
      overage: Type.Boolean({
        description: 'Serve and bill live requests beyond the monthly quota, unless the organization switched it off'
      })
    },
    { additionalProperties: false }
  ),
  { minProperties: 1 }
)

/** A value of which nothing may be changed, at any depth. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The limits of an organization. */
export type Plan = Plans[string]

/** All plans by name. */
export type Plans = DeepReadonly<Static<typeof plansSchema>>

/** One FHIR server, as configured; the secrets stay where `auth` points. */
export type DatastoreConfig = Config['datastores'][string]

/** The checked, complete and frozen configuration. It holds no secret. */
export type Config = DeepReadonly<Static<typeof configSchema>> & { readonly plans: Plans }
