import type { Streams } from '../context.js'
import type { Gateway } from './gateway.js'

/** The dependencies of one bulk command. */
export interface Session {
  readonly gateway: Gateway
  /** The same gateway, for requests after the command was interrupted. */
  readonly afterwards: Gateway
  /** Aborted when the person wants the command to end. */
  readonly signal: AbortSignal
  readonly streams: Streams
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly isJson: boolean
}
