import type { FastifyRequest } from 'fastify'

/** What the header Prefer requests, RFC 7240; what else it holds is passed over. */
interface Preferences {
  readonly returns: 'minimal' | 'representation' | 'OperationOutcome' | undefined
  readonly isLenient: boolean
  readonly isAsync: boolean
}

export function parsePrefer ({ headers: { prefer } }: Pick<FastifyRequest, 'headers'>): Preferences {
  const preferences = [prefer ?? []]
    .flat()
    .flatMap(header => header.split(','))
    .map(request => request.split(';', 1)[0]!.trim().replaceAll('"', ''))
  return {
    returns: (['minimal', 'representation', 'OperationOutcome'] as const).find(form =>
      preferences.includes(`return=${form}`)
    ),
    isLenient: preferences.includes('handling=lenient'),
    isAsync: preferences.includes('respond-async')
  }
}
