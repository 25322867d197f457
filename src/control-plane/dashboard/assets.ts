import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const types = { 'dashboard.css': 'text/css; charset=utf-8', 'dashboard.js': 'text/javascript; charset=utf-8' } as const

/** The two files that pages load. */
type AssetName = keyof typeof types

interface Asset { readonly content: Buffer, readonly version: string }

// Read when the program starts, as its own code is.
const assets = Object.fromEntries(Object.keys(types).map(name => [name, read(name)])) as Readonly<
  Record<AssetName, Asset>
>

/** The path of a file, different for each content of it, so that browsers may cache it. */
export function assetPath (name: AssetName): string {
  return `/dashboard/assets/${name}?v=${assets[name].version}`
}

/** The routes of the files, which need no sign-in. */
export async function assetRoutes (scope: FastifyInstance): Promise<void> {
  for (const name of Object.keys(types) as AssetName[]) {
    scope.get(`/assets/${name}`, async (request, reply) => sendAsset(name, request, reply))
  }
}

/** During an upgrade, a browser may request a new file from an old process: that response must not be cached. */
function sendAsset (name: AssetName, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { content, version } = assets[name]
  const isThis = new URLSearchParams(request.raw.url!.split('?')[1]).get('v') === version
  reply.header('cache-control', isThis ? 'public, max-age=31536000, immutable' : 'no-cache')
  return reply.type(types[name]).send(content)
}

function read (name: string): Asset {
  const content = readFileSync(new URL(`./assets/${name}`, import.meta.url))
  return { content, version: createHash('sha256').update(content).digest('base64url').slice(0, 16) }
}
