import type { DatastoreConnection } from '../../config/datastore-connection.js'
import type { Secret } from '../../config/secrets.js'
import { formatBasicHeader, formatBearerHeader, createFixedAuthorization, type Authorization } from './authorization.js'
import type { CredentialSource } from './credential-source.js'
import { RefreshingAuthorization, type RenewedOptions } from './renewed-authorization.js'
import { SecretFile } from './secret-file.js'

/** Opens the authorization of a datastore. No token is requested yet, so the token server may be down. */
export async function openAuthorization (
  { credentials, certificate }: Pick<DatastoreConnection, 'credentials' | 'certificate'>,
  parts: Omit<RenewedOptions, 'source'>
): Promise<Authorization> {
  const createRefreshing = (source: CredentialSource) => new RefreshingAuthorization({ ...parts, source })
  const createFromSecret = ({ text, file }: Secret, formatHeader: (secret: string) => string) =>
    file === undefined
      ? createFixedAuthorization(formatHeader(text))
      : createRefreshing(new SecretFile({ path: file, text, formatHeader }))
  switch (credentials.kind) {
    case 'none':
      return createFixedAuthorization()
    case 'basic':
      return createFromSecret(credentials.password, password => formatBasicHeader(credentials.user, password))
    case 'bearer':
      return createFromSecret(credentials.token, formatBearerHeader)
    // Loaded only if needed, since they import libraries.
    case 'oauth2':
      return createRefreshing(new (await import('./client-credentials.js')).ClientCredentials(credentials, certificate))
    case 'azure':
      return createRefreshing(await (await import('./entra-tokens.js')).openEntra(credentials, parts.now))
  }
}
