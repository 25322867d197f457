import type { FastifyRequest } from 'fastify'

/** The preferences in the header Prefer (RFC 7240) that are supported; others are ignored. */
interface Preferences {
  readonly returns: 'minimal' | 'representation' | 'OperationOutcome' | undefined
  readonly isLenient: boolean
  readonly isAsync: boolean
}

const none: Preferences = { returns: undefined, isLenient: false, isAsync: false }

export function parsePrefer ({ headers: { prefer } }: Pick<FastifyRequest, 'headers'>): Preferences {
  if (prefer === undefined) return none
  const preferences = [prefer]
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
