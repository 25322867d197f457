import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port of loopback that nobody had a moment ago, for a program that cannot choose one itself. */
export async function freePort (): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  taken.close()
  await once(taken, 'close')
  return port
}
