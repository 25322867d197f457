/** The link to the control plane failed. The message says what to do, and repeats nothing that was sent. */
export class ControlPlaneError extends Error {
  constructor (message: string) {
    super(message)
    this.name = 'ControlPlaneError'
  }
}
