import type { Streams } from '../context.js'
import type { Gateway } from './gateway.js'

/** What one bulk command works with. */
export interface Session {
  readonly gateway: Gateway
  /** The same gateway for what is to be done when the command was interrupted. */
  readonly afterwards: Gateway
  /** Aborted when the person wants the command to end. */
  readonly signal: AbortSignal
  readonly streams: Streams
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly isJson: boolean
}
