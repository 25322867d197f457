import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openEntra } from '../../../src/backends/authentication/entra-tokens.js'
import { CredentialError } from '../../../src/backends/authentication/credential-source.js'
import type { EntraCredentials } from '../../../src/config/credentials.js'
import { startGuarded } from './datastores.js'

const now = () => new Date()

t.test('without the library, a start reports the package to install', async t => {
  const importMissing = () => Promise.reject(Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' }))
  const credentials: EntraCredentials = {
    kind: 'azure',
    identity: { credential: 'managed-identity', clientId: undefined },
    scope: 'x/.default',
    authorityHost: undefined
  }
  await t.rejects(openEntra(credentials, now, importMissing), /npm install @azure\/identity/)
})

t.test('a managed identity gets its token from the machine, for its datastore', async t => {
  const requested: string[] = []
  const machine = createServer((request, response) => {
    requested.push(`${request.url} ${request.headers['x-identity-header']}`)
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        JSON.stringify({
          access_token: 'managed',
          token_type: 'Bearer',
          expires_on: Math.floor(Date.now() / 1_000) + 3_600,
          resource: 'r'
        })
      )
  })
  await new Promise<void>(resolve => machine.listen(0, '127.0.0.1', resolve))
  t.after(() => { machine.close(); machine.closeAllConnections() })
  // Azure App Service passes the address of its identity endpoint to a process in these variables.
  process.env.IDENTITY_ENDPOINT = `http://127.0.0.1:${(machine.address() as AddressInfo).port}/msi/token`
  process.env.IDENTITY_HEADER = 'of this machine'
  t.after(() => { delete process.env.IDENTITY_ENDPOINT; delete process.env.IDENTITY_HEADER })
  const { backend, server } = await startGuarded(t, {
    accepts: header => header === 'Bearer managed',
    auth: { type: 'azure', credential: 'managed-identity' }
  })
  t.equal((await backend.send({ method: 'GET', path: 'Patient/1' })).status, 200)
  t.equal(requested.length, 1)
  t.ok(requested[0]!.includes(encodeURIComponent(new URL(server.url).origin)), 'the resource is the datastore')
  t.match(requested[0], / of this machine$/)
})

t.test('a rejection by Entra ID is reported by its error code alone', async t => {
  class ClientSecretCredential {
    getToken () {
      return Promise.reject(
        Object.assign(new Error('AADSTS7000215: Invalid client secret s3cret for app 1234'), {
          name: 'AuthenticationError',
          statusCode: 401,
          errorResponse: { error: 'invalid_client' }
        })
      )
    }
  }
  const credentials: EntraCredentials = {
    kind: 'azure',
    identity: { credential: 'client-secret', tenantId: 't', clientId: 'c', secret: { text: 's3cret' } },
    scope: 'x/.default',
    authorityHost: undefined
  }
  const source = await openEntra(credentials, now, async () => ({ ClientSecretCredential }) as never)
  const failure = await source.fetchCredential(AbortSignal.timeout(60_000)).catch((error: unknown) => error)
  t.ok(failure instanceof CredentialError)
  t.match(failure, { facts: { code: 'AADSTS7000215', status: 401 } })
  t.notMatch(JSON.stringify(failure) + (failure as Error).message, /s3cret|1234/)
})
