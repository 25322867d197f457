import { readFileSync } from 'node:fs'
import type { DatastoreConfig } from '../config.js'
import type { Environment } from './environment.js'

/** How the gateway authenticates itself at a datastore, secrets included: pass it on, never log it. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic', readonly user: string, readonly password: string }
  | { readonly kind: 'bearer', readonly token: string }

/** Reads the secrets that `auth` points at, or says what is wrong with the settings. */
export function readCredentials (auth: DatastoreConfig['auth'], environment: Environment): Credentials | { readonly mistake: string } {
  const needless = settingsBeyond(auth)
  if (needless.length > 0) return { mistake: `${needless.join(' and ')} ${needless.length === 1 ? 'does' : 'do'} not belong to the type ${auth.type}` }
  if (auth.type === 'basic') {
    if (auth.username === undefined) return { mistake: 'basic needs username' }
    if (auth.username.includes(':')) return { mistake: 'username must not hold a colon' }
    const password = readSecret('password', auth.passwordEnv, auth.passwordFile, environment)
    return 'mistake' in password ? password : { kind: 'basic', user: auth.username, password: password.secret }
  }
  if (auth.type === 'bearer') {
    const token = readSecret('token', auth.tokenEnv, auth.tokenFile, environment)
    return 'mistake' in token ? token : { kind: 'bearer', token: token.secret }
  }
  return { kind: 'none' }
}

const settingsOf = {
  none: ['type'],
  basic: ['type', 'username', 'passwordEnv', 'passwordFile'],
  bearer: ['type', 'tokenEnv', 'tokenFile']
} as const satisfies Record<Credentials['kind'], ReadonlyArray<keyof DatastoreConfig['auth']>>

function settingsBeyond (auth: DatastoreConfig['auth']): string[] {
  return Object.keys(auth).filter(name => !(settingsOf[auth.type as Credentials['kind']] as readonly string[]).includes(name))
}

function readSecret (name: 'password' | 'token', variable: string | undefined, file: string | undefined, environment: Environment): { readonly secret: string } | { readonly mistake: string } {
  if ((variable === undefined) === (file === undefined)) return { mistake: `needs either ${name}Env or ${name}File` }
  const secret = variable !== undefined ? environment[variable] : readText(file!)
  if (secret === undefined) return { mistake: variable !== undefined ? `${name}Env names a variable that is not set` : `${name}File cannot be read` }
  // Such a character would end the header that carries the secret.
  if (!/^[\x20-\x7e]+$/.test(secret)) return { mistake: `the ${name} is empty or holds a character that a header cannot carry` }
  return { secret }
}

/** The text of a file without the space around it; undefined when it cannot be read. */
export function readText (file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
