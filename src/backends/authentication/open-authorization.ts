import type { DatastoreConnection } from '../../config/datastore-connection.js'
import type { Secret } from '../../config/secrets.js'
import { basicHeader, bearerHeader, fixedAuthorization, type Authorization } from './authorization.js'
import type { CredentialSource } from './credential-source.js'
import { RefreshingAuthorization, type RenewedOptions } from './renewed-authorization.js'
import { SecretFile } from './secret-file.js'

/** Opens the authorization of a datastore. No token is requested yet, so the token server may be down. */
export async function openAuthorization (
  { credentials, certificate }: Pick<DatastoreConnection, 'credentials' | 'certificate'>,
  parts: Omit<RenewedOptions, 'source'>
): Promise<Authorization> {
  const renewed = (source: CredentialSource) => new RefreshingAuthorization({ ...parts, source })
  const ofSecret = ({ text, file }: Secret, headerOf: (secret: string) => string) =>
    file === undefined ? fixedAuthorization(headerOf(text)) : renewed(new SecretFile({ path: file, text, headerOf }))
  switch (credentials.kind) {
    case 'none':
      return fixedAuthorization()
    case 'basic':
      return ofSecret(credentials.password, password => basicHeader(credentials.user, password))
    case 'bearer':
      return ofSecret(credentials.token, bearerHeader)
    // Loaded only if needed, since they import libraries.
    case 'oauth2':
      return renewed(new (await import('./client-credentials.js')).ClientCredentials(credentials, certificate))
    case 'azure':
      return renewed(await (await import('./entra-tokens.js')).openEntra(credentials, parts.now))
  }
}
