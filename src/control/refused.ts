/** Why a wish can't be fulfilled: what it names isn't there, what it says is wrong, it comes too late, or the actor's role doesn't allow it. */
export type RefusalReason = 'missing' | 'invalid' | 'conflict' | 'forbidden'

/** A wish that the control plane can't fulfil; the message tells the person who asked what to do, `field` which part of the wish it is about. */
export class ControlRefused extends Error {
  constructor (readonly reason: RefusalReason, message: string, readonly field?: string) {
    super(message)
    this.name = 'ControlRefused'
  }
}
