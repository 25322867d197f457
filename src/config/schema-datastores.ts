/** The settings of the FHIR servers, and which organizations each of them serves. */
import { Type } from 'typebox'

const optionalFile = (description: string, example: string) =>
  Type.Optional(Type.String({ description, minLength: 1, examples: [`/run/secrets/${example}`] }))

const optionalText = (description: string, example: string) =>
  Type.Optional(Type.String({ description, minLength: 1, examples: [example] }))

const datastoreAuth = Type.Object(
  {
    type: Type.Enum(['none', 'basic', 'bearer', 'oauth2', 'azure'], {
      description: 'How the gateway authenticates to this server',
      default: 'none',
      examples: ['bearer']
    }),
    username: optionalText('User name for `basic`', 'gateway'),
    passwordEnv: optionalText('Environment variable with the password for `basic`', 'FHIR_PASSWORD'),
    passwordFile: optionalFile('File with the password for `basic`; reread when it changes', 'fhir-password'),
    tokenEnv: optionalText('Environment variable with the token for `bearer`', 'FHIR_TOKEN'),
    tokenFile: optionalFile('File with the token for `bearer`; reread when it changes', 'fhir-token'),
    tokenUrl: Type.Optional(
      Type.String({
        description: 'Token endpoint for `oauth2` (client credentials grant)',
        format: 'base-url',
        examples: ['https://login.example.org/realms/clinic/protocol/openid-connect/token']
      })
    ),
    clientId: optionalText(
      'Client id of the gateway for `oauth2` and `azure`. A managed identity needs it only if it is user-assigned',
      'clinigate'
    ),
    clientAuthentication: Type.Optional(
      Type.Enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'tls_client_auth'], {
        description: 'How the gateway authenticates to the `oauth2` token server. If absent: client_secret_basic',
        examples: ['private_key_jwt']
      })
    ),
    clientSecretEnv: optionalText('Environment variable with the client secret', 'FHIR_CLIENT_SECRET'),
    clientSecretFile: optionalFile('File with the client secret; reread for each new token', 'fhir-client-secret'),
    keyFile: optionalFile(
      'Private key for `private_key_jwt` (PEM, RSA or EC); reread for each new token',
      'fhir-client-key.pem'
    ),
    keyId: optionalText('Id of that key at the token server (`kid`)', 'gateway-1'),
    keyHash: Type.Optional(
      Type.Enum(['SHA-256', 'SHA-384', 'SHA-512'], {
        description:
          'Hash for RSA signatures (RS256, RS384 or RS512); for EC keys the curve determines it. If absent: SHA-384',
        examples: ['SHA-256']
      })
    ),
    credential: Type.Optional(
      Type.Enum(['client-secret', 'certificate', 'managed-identity', 'workload-identity'], {
        description: 'Kind of Microsoft Entra ID credential for `azure`',
        examples: ['managed-identity']
      })
    ),
    tenantId: optionalText('Entra ID directory (tenant) for `azure`', '<directory id>'),
    certificateFile: optionalFile('Certificate and private key for `azure` in one PEM file', 'entra-client.pem'),
    authorityHost: Type.Optional(
      Type.String({
        description: 'Entra ID endpoint of a national cloud. If absent: the public cloud',
        format: 'base-url',
        examples: ['https://login.microsoftonline.us']
      })
    ),
    scope: optionalText(
      "Scope to request. If absent with `azure`: the datastore's origin followed by `/.default`",
      'system/*.cruds'
    ),
    resource: optionalText(
      'Resource to request with `oauth2`, if the token server needs one (RFC 8707)',
      'https://fhir.example.org'
    ),
    audience: optionalText('Audience to request with `oauth2`, if the token server needs one', 'https://fhir.example.org'),
    caFile: Type.Optional(
      Type.String({
        description: "Certificate authorities for the token server (PEM), used instead of the system's",
        minLength: 1,
        examples: ['/etc/ssl/hospital-ca.pem']
      })
    )
  },
  { additionalProperties: false, default: {} }
)

export const datastore = Type.Object(
  {
    url: Type.String({
      description: 'Base URL of the FHIR R4 server. Secrets belong under `auth`, never here',
      format: 'base-url',
      examples: ['https://fhir.example.org/fhir']
    }),
    caFile: Type.Optional(
      Type.String({
        description: "Certificate authorities (PEM), used instead of the system's. The certificate is always verified",
        minLength: 1,
        examples: ['/etc/ssl/hospital-ca.pem']
      })
    ),
    clientCertFile: Type.Optional(
      Type.String({
        description: 'Client certificate (PEM), including intermediate certificates',
        minLength: 1,
        examples: ['/run/secrets/fhir-client.pem']
      })
    ),
    clientKeyFile: Type.Optional(
      Type.String({
        description: 'Private key of the client certificate (PEM, without a passphrase)',
        minLength: 1,
        examples: ['/run/secrets/fhir-client-key.pem']
      })
    ),
    headers: Type.Record(
      Type.String(),
      Type.Object(
        {
          value: Type.Optional(
            Type.String({
              description: 'Value of this header on every request. Put secrets in `valueEnv` or `valueFile` instead',
              pattern: '^[ -~]+$',
              examples: ['Device']
            })
          ),
          valueEnv: Type.Optional(
            Type.String({
              description: 'Environment variable with the value',
              minLength: 1,
              examples: ['FHIR_SUBSCRIPTION_KEY']
            })
          ),
          valueFile: Type.Optional(
            Type.String({
              description: 'File with the value, read at startup',
              minLength: 1,
              examples: ['/run/secrets/fhir-subscription-key']
            })
          )
        },
        { additionalProperties: false }
      ),
      { default: {} }
    ),
    auth: datastoreAuth,
    import: Type.Enum(['transactions', 'native'], {
      description:
        "How bulk imports write to this server: with transactions, or (`native`), for new records, with the server's native `$import`, which fetches them from `bulk.importUrl`. With `events.enabled` it is transactions, since a native import gives no events",
      default: 'transactions',
      examples: ['native']
    }),
    connectTimeoutMs: Type.Integer({
      description: 'Maximum wait for a connection',
      unit: 'ms',
      minimum: 1,
      default: 5_000,
      examples: [5_000]
    }),
    headersTimeoutMs: Type.Integer({
      description: 'Maximum wait for the start of a response',
      unit: 'ms',
      minimum: 1,
      default: 30_000,
      examples: [30_000]
    }),
    bodyTimeoutMs: Type.Integer({
      description: 'Maximum pause within a response',
      unit: 'ms',
      minimum: 1,
      default: 15_000,
      examples: [15_000]
    }),
    totalTimeoutMs: Type.Integer({
      description: 'Maximum total time for a response, including the wait for a connection and a retry',
      unit: 'ms',
      minimum: 1,
      default: 60_000,
      examples: [60_000]
    }),
    maxResponseBytes: Type.Integer({
      description: 'Maximum response size',
      unit: 'bytes',
      minimum: 65_536,
      default: 67_108_864,
      examples: [67_108_864]
    }),
    connections: Type.Integer({
      description: 'Maximum concurrent connections',
      minimum: 1,
      maximum: 10_000,
      default: 64,
      examples: [64]
    })
  },
  { additionalProperties: false }
)

export const routing = Type.Object(
  {
    test: Type.String({
      description: 'Datastore for all test keys. Without a URL, an embedded sandbox is used, for evaluation only',
      urlEnv: 'FHIR_TEST_URL',
      default: 'test',
      examples: ['test']
    }),
    live: Type.String({
      description:
        'Datastore for live keys, except those of the plan enterprise. Without a URL, an embedded sandbox is used, for evaluation only',
      urlEnv: 'FHIR_LIVE_URL',
      default: 'live',
      examples: ['live']
    }),
    dedicated: Type.Record(Type.String(), Type.String(), {
      description:
        'Datastore of each enterprise organization, by tenant id. An enterprise organization that is missing here gets 503',
      default: {},
      examples: [{ '<tenantId>': 'hospital-eu' }]
    })
  },
  { additionalProperties: false, default: {} }
)
