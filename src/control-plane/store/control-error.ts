/**
 * Why a request is refused: the entity that it names does not exist, it is invalid, it conflicts with the present
 * state, or the actor's role does not allow it.
 */
export const refusalReasons = ['missing', 'invalid', 'conflict', 'forbidden'] as const
export type RefusalReason = typeof refusalReasons[number]

/**
 * A request that the control plane refuses. The message says what to do; `field` names the member of the request that
 * is at fault.
 */
export class ControlError extends Error {
  constructor (readonly reason: RefusalReason, message: string, readonly field?: string) {
    super(message)
    this.name = 'ControlError'
  }
}
