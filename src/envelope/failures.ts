/** All failures as clients see them. Status, title and remedy are defined only here. The cause goes to the log. */

interface CatalogEntry {
  readonly status: number
  /** The code in an OperationOutcome: http://hl7.org/fhir/R4/valueset-issue-type.html */
  readonly issueType: string
  readonly title: string
  readonly remedy: string
}

/** All error codes of the API. The documentation has this table. */
export const catalog = {
  BAD_REQUEST: {
    status: 400,
    issueType: 'invalid',
    title: 'Bad request',
    remedy: 'Correct the request as the message says and send it again.'
  },
  INVALID_JSON: {
    status: 400,
    issueType: 'structure',
    title: 'Invalid JSON',
    remedy: 'Send a body that is one JSON value in UTF-8.'
  },
  INVALID_CURSOR: {
    status: 400,
    issueType: 'expired',
    title: 'Invalid cursor',
    remedy:
      'Start the search again without a cursor. A cursor works only for the search that returned it, and only for a limited time.'
  },
  UNKNOWN_FILTER: {
    status: 400,
    issueType: 'not-supported',
    title: 'Unknown filter',
    remedy: 'Use one of the filters of this resource.'
  },
  METHOD_OVERRIDE_REJECTED: {
    status: 400,
    issueType: 'not-supported',
    title: 'Method override rejected',
    remedy: 'Send the request with the intended method, without a method override header.'
  },
  UNAUTHORIZED: {
    status: 401,
    issueType: 'login',
    title: 'Unauthorized',
    remedy: 'Send your secret key in the x-api-key header, or as Authorization: Bearer.'
  },
  INVALID_KEY_FORMAT: {
    status: 401,
    issueType: 'login',
    title: 'Invalid key format',
    remedy: 'Send one complete key, exactly as it was shown when it was created.'
  },
  INVALID_KEY: {
    status: 401,
    issueType: 'login',
    title: 'Invalid key',
    remedy: 'Use a key that this service issued, or create a new one in the dashboard.'
  },
  KEY_REVOKED: {
    status: 401,
    issueType: 'login',
    title: 'Key revoked',
    remedy: 'This key was revoked. Create a new one in the dashboard.'
  },
  KEY_EXPIRED: {
    status: 401,
    issueType: 'expired',
    title: 'Key expired',
    remedy: 'This key has expired. Create a new one in the dashboard.'
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    issueType: 'forbidden',
    title: 'Insufficient scope',
    remedy: 'Use a key with the scope that this request needs: read for GET, write for changes, or the same of its resource, such as patients:read.'
  },
  NOT_FOUND: { status: 404, issueType: 'not-found', title: 'Not found', remedy: 'Check the path and the id.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    issueType: 'not-supported',
    title: 'Method not allowed',
    remedy: 'Use one of the methods in the Allow header.'
  },
  NOT_ACCEPTABLE: {
    status: 406,
    issueType: 'not-supported',
    title: 'Not acceptable',
    remedy: 'Accept application/json.'
  },
  CONFLICT: {
    status: 409,
    issueType: 'conflict',
    title: 'Conflict',
    remedy: 'Read the record again and repeat the change on its current version.'
  },
  PRECONDITION_FAILED: {
    status: 412,
    issueType: 'conflict',
    title: 'Precondition failed',
    remedy: 'The record is no longer at the version in If-Match. Read it again.'
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    issueType: 'too-long',
    title: 'Payload too large',
    remedy: 'Send a smaller body, or use bulk import.'
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    issueType: 'not-supported',
    title: 'Unsupported media type',
    remedy: 'Send application/json without content encoding.'
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    issueType: 'invalid',
    title: 'Range not satisfiable',
    remedy: "Request a range that starts within the file. Content-Range gives the file's length."
  },
  VALIDATION_ERROR: {
    status: 422,
    issueType: 'invalid',
    title: 'Validation error',
    remedy: 'Correct the fields listed in issues.'
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    issueType: 'duplicate',
    title: 'Idempotency key reused',
    remedy: 'Use a new Idempotency-Key for a different request.'
  },
  RATE_LIMITED: { status: 429, issueType: 'throttled', title: 'Rate limited', remedy: 'Try again later.' },
  MONTHLY_QUOTA_EXCEEDED: {
    status: 429,
    issueType: 'throttled',
    title: 'Monthly quota exceeded',
    remedy: 'Turn on overage in the dashboard if the plan has it, choose a larger plan, or wait for the next month.'
  },
  SANDBOX_QUOTA_EXCEEDED: {
    status: 429,
    issueType: 'throttled',
    title: 'Sandbox quota exceeded',
    remedy: 'Choose a larger plan, or wait for the next month.'
  },
  INTERNAL_ERROR: {
    status: 500,
    issueType: 'exception',
    title: 'Internal error',
    remedy: 'Try again. If the error persists, report the requestId.'
  },
  NOT_IMPLEMENTED: {
    status: 501,
    issueType: 'not-supported',
    title: 'Not implemented',
    remedy: 'This gateway, or the FHIR server behind it, does not offer this operation. A retry does not help.'
  },
  BACKEND_ERROR: {
    status: 502,
    issueType: 'transient',
    title: 'Backend error',
    remedy: 'Try again. If the error persists, report the requestId.'
  },
  BACKEND_UNAVAILABLE: {
    status: 503,
    issueType: 'transient',
    title: 'Backend unavailable',
    remedy: 'Try again later.'
  },
  BACKEND_TIMEOUT: {
    status: 504,
    issueType: 'timeout',
    title: 'Backend timeout',
    remedy: 'Before you repeat a change, check whether it was made.'
  }
} as const satisfies Record<string, CatalogEntry>

export type FailureCode = keyof typeof catalog

/** The most issues in a response. A request may have a hundred thousand. */
const maxListedIssues = 100
/** Where checks can stop: one more than are listed, to show that there are more. */
export const maxIssues = maxListedIssues + 1

/** A problem to correct. `expression` has the fields of the request; `diagnostics` never repeats a value. */
export interface Issue {
  readonly severity: 'error' | 'warning'
  /** An R4 issue type: http://hl7.org/fhir/R4/valueset-issue-type.html */
  readonly code: string
  readonly diagnostics: string
  readonly expression?: readonly string[]
}

/** A record that refers to another one, or to one of those that do. */
export interface Referrer {
  readonly type: string
  readonly id: string
  /** Present where it and other listed records refer to each other, so that only a transaction deletes them. */
  readonly cycle?: true
  /** The path at which a client deletes it; absent in raw FHIR. */
  readonly path?: string
}

/** The records that prevent the deletion of a record. */
export interface Referrers {
  /** In an order in which they can be deleted. */
  readonly referrers: readonly Referrer[]
  /** Whether there are others, which a delete names after these. */
  readonly hasMore: boolean
}

export interface FailureDetails {
  /** The remedy, instead of the catalog's. Never contains a value that was sent or stored. */
  readonly message?: string
  /** When to try again. The header Retry-After has this number, and the message ends with it. */
  readonly retryAfterSeconds?: number | undefined
  /** If there are too many, only the first ones are listed. */
  readonly issues?: readonly Issue[]
  /** Shown in the simple form as `details`. */
  readonly details?: Referrers | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Only for the log. */
  readonly cause?: unknown
}

/** A failed request. The error handler of its scope sends the response. */
export class Failure extends Error {
  readonly status: number
  readonly title: string
  readonly issues: readonly Issue[]
  readonly details: Referrers | undefined
  readonly headers: Readonly<Record<string, string>>
  /** The message without a number of seconds, for a reader who sees it much later, such as that of a failed job. */
  readonly lastingMessage: string

  constructor (readonly code: FailureCode, details: FailureDetails = {}) {
    const { retryAfterSeconds: seconds } = details
    super(formatMessage(code, details, `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`), {
      cause: details.cause
    })
    this.name = 'Failure'
    this.status = catalog[code].status
    this.title = catalog[code].title
    this.issues = limitIssues(details.issues ?? [])
    this.details = details.details
    this.headers = { ...seconds !== undefined && { 'retry-after': String(seconds) }, ...details.headers }
    this.lastingMessage = formatMessage(code, details, 'Try again later.')
  }
}

/** @param advice ends the message of a failure that has a time to try again */
function formatMessage (
  code: FailureCode, { message, retryAfterSeconds, issues }: FailureDetails, advice: string
): string {
  if (retryAfterSeconds === undefined) {
    return message ?? (code === 'VALIDATION_ERROR' ? formatFirstIssue(issues) : undefined) ?? catalog[code].remedy
  }
  return message === undefined ? advice : `${message} ${advice}`
}

/** The first field and its fault as a sentence, for clients that show nothing else; undefined without an issue. */
function formatFirstIssue (issues: readonly Issue[] = []): string | undefined {
  const [first, ...others] = issues
  if (first === undefined) return undefined
  const { diagnostics, expression: [field] = [] } = first
  const text = field === undefined || diagnostics.includes(field) ? diagnostics : `${field}: ${diagnostics}`
  const sentence = /[.?!]$/.test(text) ? text : `${text}.`
  return others.length === 0 ? sentence : `${sentence} The other faults are listed in issues.`
}

/** The issues that a response lists. If they are too many, the last one says so. */
export function limitIssues<T extends Issue> (issues: readonly T[]): ReadonlyArray<T | Issue> {
  return issues.length < maxIssues ? issues : [...issues.slice(0, maxListedIssues), moreIssues]
}

const moreIssues: Issue = {
  severity: 'error',
  code: 'too-costly',
  diagnostics: `Only the first ${maxListedIssues} issues are listed. Correct them and send the request again to see the others.`
}

/** The remedy for a path with an empty segment, such as `/v1/patients/`. */
export const slashError =
  'The path has a slash too many. Send it without a slash at its end and without two slashes in a row.'

/** The issue of one field, for a 422 or 400. */
export function fieldIssue (field: string, diagnostics: string, code = 'invalid'): Issue {
  return { severity: 'error', code, diagnostics: `${field}: ${diagnostics}`, expression: [field] }
}
