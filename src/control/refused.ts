/** Why a wish can't be fulfilled: what it names isn't there, what it says is wrong, or it comes too late. */
export type RefusalReason = 'missing' | 'invalid' | 'conflict'

/** A wish that the control plane can't fulfil; the message tells the person who asked what to do. */
export class ControlRefused extends Error {
  constructor (readonly reason: RefusalReason, message: string) {
    super(message)
    this.name = 'ControlRefused'
  }
}
