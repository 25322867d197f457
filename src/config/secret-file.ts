import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Environment } from './environment.js'

/**
 * A secret as it was at the start; where it came from a file, the file may hold a newer one meanwhile. Pass it on,
 * never log it.
 */
export interface Secret {
  readonly text: string
  readonly file?: string
}

/** What is wrong with a setting: a sentence that repeats no value. */
export interface ConfigError { readonly error: string }

/** Reads a secret from where `<name>Env` or `<name>File` points, or says what is wrong. */
export function readSecret (
  name: string,
  { variable, file }: { readonly variable: string | undefined; readonly file: string | undefined },
  environment: Environment
): Secret | ConfigError {
  if ((variable === undefined) === (file === undefined)) return { error: `needs either ${name}Env or ${name}File` }
  const text = variable !== undefined ? environment[variable] : readText(file!)
  if (text === undefined) {
    return {
      error: variable !== undefined ? `${name}Env names a variable that is not set` : `${name}File cannot be read`
    }
  }
  // Such a character would end the header that carries the secret.
  if (!/^[\x20-\x7e]+$/.test(text)) {
    return { error: `the ${name} is empty or contains a character that is not valid in a header` }
  }
  return { text, ...(file !== undefined && { file }) }
}

/** The text of a file without the space around it; undefined when it cannot be read. */
export function readText (file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** The certificate authorities, in PEM, in the file that settings name, if they do. */
export function readAuthorities ({ caFile }: { readonly caFile?: string }): { readonly ca?: string } | ConfigError {
  if (caFile === undefined) return {}
  const ca = readText(caFile)
  if (ca === undefined) return { error: 'caFile: the file cannot be read' }
  // Node passes over what is no certificate, and then trusts nobody.
  return holdsCertificate(ca) ? { ca } : { error: 'caFile: the file must hold certificates in PEM' }
}

function holdsCertificate (pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

export function isError (value: object): value is ConfigError {
  return 'error' in value
}
