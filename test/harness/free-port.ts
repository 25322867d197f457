import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of loopback that nobody had a moment ago, for a program that cannot choose one itself. It is below those that systems
 * give to clients and to servers without a wish, so that none of them takes it before the program does, or while that is down.
 */
export async function freePort (): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(() => true, () => false)
  if (!isFree) return await freePort()
  server.close()
  await once(server, 'close')
  return port
}
