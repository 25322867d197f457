/** Settings of bulk jobs, and of what operators watch and limit. */
import { Type } from 'typebox'

export const bulk = Type.Object(
  {
    directory: Type.Optional(
      Type.String({
        description:
          "Directory for the files of bulk jobs, encrypted and kept until a day after the job. Gateways that take over each other's jobs must share it. If absent: `bulk` in the data directory",
        minLength: 1,
        examples: ['/mnt/clinigate-bulk']
      })
    ),
    maxConcurrentJobs: Type.Integer({
      formerName: 'jobsAtOnce',
      description: 'Maximum bulk jobs that this process runs concurrently; others wait. 0: none, where workers run them',
      minimum: 0,
      maximum: 100,
      default: 4,
      examples: [4]
    }),
    thread: Type.Boolean({
      description:
        'Whether bulk jobs run in a thread of their own, so that requests do not wait for them. With the embedded sandbox and with `bulk.importUrl` they never do',
      default: true,
      examples: [false]
    }),
    jobsPerOrganization: Type.Integer({
      description: 'Maximum concurrent bulk jobs per organization, across all gateways',
      minimum: 1,
      maximum: 100,
      default: 2,
      examples: [2]
    }),
    importHosts: Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:\\d{1,5})?$' }), {
      description:
        'Hosts from which imports may fetch records over https, with the port if it is not 443; none by default',
      default: [],
      examples: [['files.example.org']]
    }),
    importUrl: Type.Optional(
      Type.String({
        description:
          'URL at which datastores with `import` set to `own` reach this gateway, different for each gateway. If absent: imports use transactions',
        format: 'base-url',
        examples: ['http://gateway-1.internal:8080']
      })
    ),
    lineBytes: Type.Integer({
      description: 'Maximum length of an import line',
      unit: 'bytes',
      minimum: 65_536,
      maximum: 134_217_728,
      default: 16_777_216,
      examples: [16_777_216]
    }),
    organizationBytes: Type.Optional(
      Type.Integer({
        description:
          'Maximum disk space in this directory for the bulk files of an organization, live and test apart. Files of jobs that ended count until they are deleted. If absent: half of the disk',
        unit: 'bytes',
        minimum: 1_048_576,
        examples: [107_374_182_400]
      })
    ),
    reserveBytes: Type.Integer({
      description: 'Disk space that bulk jobs leave free; they wait while less is available',
      unit: 'bytes',
      minimum: 0,
      default: 268_435_456,
      examples: [268_435_456]
    })
  },
  { additionalProperties: false, default: {} }
)

export const metrics = Type.Object(
  {
    port: Type.Optional(
      Type.Integer({
        description: 'Port on which Prometheus reads `/metrics`, without a key. If absent: metrics are off',
        env: 'METRICS_PORT',
        minimum: 1,
        maximum: 65_535,
        examples: [9464]
      })
    ),
    host: Type.String({
      description: 'Address that the metrics port listens on. API clients should not be able to reach it',
      env: 'METRICS_HOST',
      minLength: 1,
      default: '127.0.0.1',
      examples: ['10.0.0.5']
    })
  },
  { additionalProperties: false, default: {} }
)

export const overload = Type.Object(
  {
    eventLoopDelayMs: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description:
        'Refuse requests with 503 while the event-loop delay averages more than this over a second; null: never',
      unit: 'ms',
      minimum: 20,
      default: 500,
      examples: [500]
    }),
    heapPercent: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: "Refuse requests with 503 while more than this share of Node's heap limit is in use; null: never",
      unit: 'percent',
      minimum: 10,
      maximum: 100,
      default: 90,
      examples: [90]
    }),
    rssBytes: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description:
        "Refuse requests with 503 while the process uses more resident memory than this; set it slightly below the process's memory limit. null: never",
      unit: 'bytes',
      minimum: 134_217_728,
      default: null,
      examples: [1_073_741_824]
    })
  },
  { additionalProperties: false, default: {} }
)

export const auditLog = Type.Object(
  {
    file: Type.Optional(
      Type.String({
        description:
          'File for the access audit log: who did what to which record, as hash-chained JSON lines. Each process needs its own file. If absent: no access audit log',
        env: 'AUDIT_LOG_FILE',
        minLength: 1,
        examples: ['/var/log/clinigate/access.log']
      })
    ),
    isRequired: Type.Boolean({
      description:
        'Hold each response until its lines are on disk, and refuse requests with 503 while they cannot be written. false: responses do not wait',
      default: true,
      examples: [false]
    }),
    logsSearchResultIds: Type.Boolean({
      formerName: 'namesShown',
      description: 'Log the id of every record that a search returned, not only their number',
      default: false,
      examples: [true]
    }),
    fileBytes: Type.Integer({
      description:
        'Size at which the file is rotated; it is also rotated daily (UTC). Rotated files are numbered and never deleted by the gateway',
      unit: 'bytes',
      minimum: 65_536,
      default: 104_857_600,
      examples: [104_857_600]
    }),
    auditEvents: Type.Boolean({
      description:
        'Also store each access as an AuditEvent of the organization in its own datastore, shortly afterwards. The file is complete even if the datastore is not',
      default: false,
      examples: [true]
    })
  },
  { additionalProperties: false, default: {} }
)

export const events = Type.Object(
  {
    enabled: Type.Boolean({
      description:
        'Write down each change of a record as an event, before its response, for `GET /v1/events`, webhooks and FHIR subscriptions. Writes are refused with 503 while the event log cannot be written',
      default: false,
      examples: [true]
    }),
    days: Type.Integer({
      description: 'How long the control plane retains events',
      unit: 'days',
      minimum: 1,
      maximum: 3_650,
      default: 30,
      examples: [30]
    }),
    maxBytes: Type.Integer({
      description:
        'Maximum size of the event log in the data directory. It grows while the control plane cannot be reached; when it is full, writes are refused with 503',
      unit: 'bytes',
      minimum: 1_048_576,
      default: 1_073_741_824,
      examples: [1_073_741_824]
    })
  },
  { additionalProperties: false, default: {} }
)
