/** The link to the control plane does not work; the message says what to do and repeats nothing that was sent. */
export class LinkFailed extends Error {
  constructor (message: string) {
    super(message)
    this.name = 'LinkFailed'
  }
}
