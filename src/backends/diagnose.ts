import { Failure } from '../envelope/failures.js'

/** Why a datastore cannot be used, and what the operator can change. Neither contains a URL, a secret or an id. */
interface Diagnosis { readonly reason: string, readonly remedy: string }

const url = 'datastores.<name>.url (FHIR_TEST_URL, FHIR_LIVE_URL)'
const unknownHost = {
  reason: 'its host name is unknown', remedy: `Check the host in ${url}, and the name service of this machine.`
}
const unreachable = {
  reason: 'its address cannot be reached',
  remedy: `Check the host and port in ${url}, that the server is running, and the firewalls on the way.`
}
const untrusted = {
  reason: 'its certificate is not trusted',
  remedy: 'Name the certificate authority in datastores.<name>.caFile, and let the server send all intermediate certificates.'
}
const noTls = { reason: 'it does not speak TLS at this port', remedy: `Check https and the port in ${url}.` }
const refused = {
  reason: "it rejected the gateway's credential", remedy: 'Check datastores.<name>.auth, and what the server allows it.'
}

/** By the error code of the system, Node or undici. */
const byCode: Readonly<Record<string, Diagnosis>> = {
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  ECONNREFUSED: {
    reason: 'nothing listens at its address', remedy: `Check the host and port in ${url}, and that the server is running.`
  },
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  UND_ERR_CONNECT_TIMEOUT: unreachable,
  CERT_HAS_EXPIRED: {
    reason: 'its certificate has expired', remedy: "Renew the server's certificate; check the clock of this machine."
  },
  CERT_NOT_YET_VALID: {
    reason: 'its certificate is not valid yet', remedy: "Check the clock of this machine, and the server's certificate."
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: 'its certificate is for another host name', remedy: `Use a host name in ${url} that is in the certificate.`
  },
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    reason: 'it requires a client certificate',
    remedy: 'Set datastores.<name>.clientCertFile and datastores.<name>.clientKeyFile.'
  }
}

/** The diagnosis of a failed exchange; undefined if it is none that a setting would mend. */
export function diagnose (error: unknown): Diagnosis | undefined {
  if (!(error instanceof Failure)) return undefined
  const { status, code } = (error.cause ?? {}) as { readonly status?: number, readonly code?: unknown }
  if (typeof code === 'string' && Object.hasOwn(byCode, code)) return byCode[code]
  if (status !== undefined) return diagnoseStatus(status)
  if (error.code !== 'BACKEND_TIMEOUT') return undefined
  return {
    reason: 'it does not respond in time', remedy: 'Check its load, and datastores.<name>.headersTimeoutMs.'
  }
}

function diagnoseStatus (status: number): Diagnosis | undefined {
  if (status === 401 || status === 403 || status === 407) return refused
  if (status >= 500 || status === 429) return undefined
  return {
    reason: `its response is not that of a FHIR server (status ${status})`,
    remedy: `Set ${url} to the base URL of a FHIR R4 server, which ends for example in /fhir.`
  }
}
