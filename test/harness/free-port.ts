import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of loopback that was free a moment ago, for a program that cannot choose one itself. It is below the ports
 * that systems assign to clients and to servers without a fixed one, so that none of them takes it before the program
 * does, or while that is down; nor does another test.
 */
export async function findFreePort (): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  return await isOurs(port) && await isFree(port) ? port : await findFreePort()
}

/**
 * Whether no other test has chosen it: one that has keeps the port of UDP with that number, which nothing here uses,
 * until its process ends.
 */
async function isOurs (port: number): Promise<boolean> {
  const claim = createSocket('udp4').unref()
  claim.bind(port, '127.0.0.1')
  return await once(claim, 'listening').then(() => true, () => {
    claim.close()
    return false
  })
}

async function isFree (port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  if (!await once(server, 'listening').then(() => true, () => false)) return false
  server.close()
  await once(server, 'close')
  return true
}
