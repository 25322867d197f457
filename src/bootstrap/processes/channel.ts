/** A function that the other end of a channel may call. */
type Handler = (...args: never[]) => unknown

/** The functions that one end of a channel provides, by name. */
export type Handlers = Readonly<Record<string, Handler>>

/** One message: a call with its number, a notification, or the response to a call. */
type Packet =
  | { readonly call: number, readonly name: string, readonly args: readonly unknown[] }
  | { readonly name: string, readonly args: readonly unknown[] }
  | { readonly to: number, readonly value?: unknown, readonly failure?: string }

/** All messages of one turn of the event loop. */
export type Packets = readonly Packet[]

interface Pending { readonly resolve: (value: never) => void, readonly reject: (error: Error) => void }

/** The other end failed, or is gone. */
class ChannelError extends Error {
  override readonly name = 'ChannelError'
}

/**
 * Calls between the first process and another one, both of this program. All calls of one turn of the event loop are
 * sent as one message, since each message takes a system call at both ends.
 */
export class Channel {
  readonly #send: (packets: Packets) => void
  readonly #handlers: Handlers
  readonly #pending = new Map<number, Pending>()
  #outbox: Packet[] = []
  #calls = 0
  #isClosed = false

  constructor (send: (packets: Packets) => void, handlers: Handlers) {
    this.#send = send
    this.#handlers = handlers
  }

  /** Calls a function of the other end. @throws {ChannelError} if it fails there, or the other end is gone */
  call<T> (name: string, ...args: readonly unknown[]): Promise<T> {
    if (this.#isClosed) return Promise.reject(channelClosed())
    return new Promise((resolve, reject) => {
      const call = ++this.#calls
      this.#pending.set(call, { resolve, reject })
      this.#post({ call, name, args })
    })
  }

  /** Calls a function of the other end whose result is of no interest. */
  notify (name: string, ...args: readonly unknown[]): void {
    if (!this.#isClosed) this.#post({ name, args })
  }

  /** Handles messages from the other end. */
  receive (packets: Packets): void {
    for (const packet of packets) {
      if ('to' in packet) this.#settle(packet)
      else if ('call' in packet) this.#respond(packet)
      else this.#run(packet)
    }
  }

  /** To be called when the other end is gone: calls without a response fail. */
  close (): void {
    this.#isClosed = true
    this.#outbox = []
    for (const { reject } of this.#pending.values()) reject(channelClosed())
    this.#pending.clear()
  }

  #post (packet: Packet): void {
    this.#outbox.push(packet)
    if (this.#outbox.length === 1) setImmediate(() => this.#flush())
  }

  #flush (): void {
    const packets = this.#outbox
    this.#outbox = []
    if (packets.length > 0 && !this.#isClosed) this.#send(packets)
  }

  #settle ({ to, value, failure }: Extract<Packet, { to: number }>): void {
    const pending = this.#pending.get(to)
    this.#pending.delete(to)
    if (failure === undefined) pending?.resolve(value as never)
    else pending?.reject(new ChannelError(failure))
  }

  #respond ({ call, ...packet }: Extract<Packet, { call: number }>): void {
    const postFailure = (error: unknown) => this.#post({ to: call, failure: (error as Error).message })
    try {
      const value = this.#run(packet)
      if (value instanceof Promise) value.then(value => this.#post({ to: call, value }), postFailure)
      else this.#post({ to: call, value })
    } catch (error) {
      postFailure(error)
    }
  }

  #run ({ name, args }: { readonly name: string, readonly args: readonly unknown[] }): unknown {
    const handler = Object.hasOwn(this.#handlers, name) ? this.#handlers[name] : undefined
    if (handler === undefined) throw new ChannelError(`the other process has no ${name}`)
    return handler(...args as never[])
  }
}

const channelClosed = (): ChannelError => new ChannelError('the other process is gone')
