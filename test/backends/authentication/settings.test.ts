import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ConfigError, loadConfig } from '../../../src/config/load.js'

t.test('invalid settings of a datastore stop the start, and no error contains their values', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-settings-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const getDatastoreErrors = (datastore: object): readonly string[] => {
    const file = join(directory, 'config.json')
    writeFileSync(file, JSON.stringify({ datastores: { a: { url: 'https://h', ...datastore } } }))
    try {
      loadConfig({ CLINIGATE_CONFIG: file, S: 's3cret' })
      return []
    } catch (error) {
      return (error as ConfigError).errors
    }
  }
  const oauth = { type: 'oauth2', tokenUrl: 'https://t/token', clientId: 'c', clientSecretEnv: 'S' }
  const azure = { type: 'azure', credential: 'client-secret', tenantId: 't', clientId: 'c', clientSecretEnv: 'S' }
  for (const valid of [
    { auth: oauth },
    { auth: azure },
    { auth: { ...oauth, tokenUrl: 'http://127.0.0.1:1/token' } },
    { auth: { type: 'azure', credential: 'managed-identity' } },
    { headers: { 'x-key': { valueEnv: 'S' } } }
  ]) { t.same(getDatastoreErrors(valid), []) }
  for (const auth of [
    { ...oauth, tokenUrl: 'http://t/token' },
    { ...oauth, clientId: undefined },
    { ...oauth, clientSecretEnv: undefined },
    { ...oauth, keyId: 'k' },
    { ...oauth, tenantId: 't' },
    { ...oauth, clientAuthentication: 'private_key_jwt' },
    { ...oauth, clientAuthentication: 'tls_client_auth', clientSecretEnv: undefined },
    { ...azure, credential: undefined },
    { ...azure, credential: 'managed-identity' },
    { ...azure, tenantId: undefined },
    { ...azure, authorityHost: 'http://login' },
    { ...azure, credential: 'certificate', clientSecretEnv: undefined }
  ]) {
    const errors = getDatastoreErrors({ auth })
    t.equal(errors.length, 1, JSON.stringify(auth))
    t.match(errors[0], /^datastores\.a\.auth: /)
    t.notMatch(errors[0], /s3cret/)
  }
  for (const name of [
    'Authorization',
    'host',
    'Connection',
    'transfer-encoding',
    'content-type',
    'if-match',
    'X-Cascade',
    'X-HTTP-Method-Override',
    'a b'
  ]) {
    t.equal(getDatastoreErrors({ headers: { [name]: { value: 'x' } } }).length, 1, name)
  }
  for (const header of [{}, { value: 'x', valueEnv: 'S' }, { valueEnv: 'NONE' }]) {
    t.equal(getDatastoreErrors({ headers: { 'x-key': header } }).length, 1)
  }
  t.equal(getDatastoreErrors({ clientCertFile: join(directory, 'config.json') }).length, 1)
})
