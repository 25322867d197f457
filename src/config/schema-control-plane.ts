/** Settings of the link to a control plane, and of its dashboard. */
import { Type } from 'typebox'
import { roles } from './actor.js'

export const control = Type.Object(
  {
    databaseUrlFile: Type.Optional(
      Type.String({
        description:
          "File with the `postgres://` URL of the control plane's database; use `?sslmode=verify-full` if it is on another machine. If absent: an SQLite file in the data directory",
        secretEnv: 'CONTROL_DATABASE_URL',
        minLength: 1,
        examples: ['/run/secrets/control-database-url']
      })
    ),
    url: Type.Optional(
      Type.String({
        description: 'URL of the control plane, for the role gateway',
        env: 'CONTROL_URL',
        format: 'base-url',
        examples: ['https://control.example.org']
      })
    ),
    gatewayTokenFile: Type.Optional(
      Type.String({
        description: 'File with the gateway token for the control plane, for the role gateway',
        secretEnv: 'CLINIGATE_GATEWAY_TOKEN',
        minLength: 1,
        examples: ['/run/secrets/gateway-token']
      })
    ),
    gatewayName: Type.Optional(
      Type.String({
        description: 'Name of this gateway in the dashboard, unique for each gateway. If absent: the host name',
        env: 'CLINIGATE_GATEWAY_NAME',
        pattern: '^[\\w.-]{1,100}$',
        examples: ['gateway-1']
      })
    )
  },
  { additionalProperties: false, default: {} }
)

const oidc = Type.Object(
  {
    issuer: Type.String({
      description: 'Issuer URL of the provider, used for discovery',
      format: 'base-url',
      examples: ['https://login.example.org/realms/clinic']
    }),
    clientId: Type.String({
      description: 'Client id of the dashboard at the provider',
      minLength: 1,
      examples: ['clinigate']
    }),
    clientSecretFile: Type.Optional(
      Type.String({
        description:
          'File with the client secret. If both file and variable are absent: a public client with PKCE only',
        secretEnv: 'OIDC_CLIENT_SECRET',
        minLength: 1,
        examples: ['/run/secrets/oidc-client-secret']
      })
    ),
    label: Type.String({
      description: 'Label of the button on the sign-in page',
      minLength: 1,
      default: 'Sign in with your organization',
      examples: ['Sign in with Entra ID']
    }),
    scope: Type.String({
      description: 'Scopes to request',
      pattern: '^openid( [!-~]+)*$',
      default: 'openid email profile',
      examples: ['openid email profile groups']
    }),
    roleClaim: Type.String({
      description: 'ID token claim with the role',
      minLength: 1,
      default: 'role',
      examples: ['groups']
    }),
    roles: Type.Record(Type.String(), Type.Enum(roles), {
      description: 'Role for each value of that claim. People without any of these values are refused',
      default: { operator: 'operator', admin: 'admin', viewer: 'viewer' },
      examples: [{ 'clinigate-operators': 'operator' }]
    }),
    organizationClaim: Type.String({
      description: 'ID token claim with the tenant id; operators do not need it',
      minLength: 1,
      default: 'organization',
      examples: ['tenant']
    })
  },
  { additionalProperties: false }
)

export const dashboard = Type.Object(
  {
    sessionIdleMinutes: Type.Integer({
      description: 'Sessions end after this long without a request',
      unit: 'minutes',
      minimum: 1,
      maximum: 1_440,
      default: 60,
      examples: [60]
    }),
    sessionHours: Type.Integer({
      description: 'Maximum session lifetime',
      unit: 'hours',
      minimum: 1,
      maximum: 720,
      default: 12,
      examples: [12]
    }),
    gatewayUrl: Type.Optional(
      Type.String({
        description:
          'Public URL of the gateways, for the commands that the dashboard shows. If absent: the address of this process',
        format: 'base-url',
        examples: ['https://api.example.org']
      })
    ),
    localAccounts: Type.Boolean({
      description: 'Allow people to sign in with a local password',
      default: true,
      examples: [true]
    }),
    oidc: Type.Optional(oidc)
  },
  { additionalProperties: false, default: {} }
)

export const webhooks = Type.Object(
  {
    secretFile: Type.Optional(
      Type.String({
        description:
          'File with the 32-byte key (base64) that encrypts the secrets of webhooks in the control database, the same on all processes of the control plane. If absent: generated in the data directory',
        minLength: 1,
        examples: ['/run/secrets/clinigate-webhooks']
      })
    ),
    privateNetworks: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      description:
        'Networks that webhooks may reach although their addresses are not public. Anyone who may create a webhook can send requests there; none by default',
      default: [],
      examples: [['10.20.0.0/16']]
    })
  },
  { additionalProperties: false, default: {} }
)
