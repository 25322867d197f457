import fp from 'fastify-plugin'
import type { Places, Stay } from './places.js'

/** Where requests wait for their place. */
interface InFlightOptions { readonly places: Pick<Places, 'enter'> }

/**
 * Bounds how many requests of an organization are worked on at a time, so that no other's wait for them. A request keeps its place
 * until it is answered whole, and where its client is gone until its work has ended. One that finds no place is refused by the
 * limit of the minute, and takes nothing of it.
 */
export const inFlight = fp<InFlightOptions>(async (app, { places }) => {
  app.decorateRequest('place')
  app.addHook('onRequest', (request, { raw }, done) => {
    const place = new Place(places.enter(request.caller))
    request.place = place
    raw.once('close', () => place.close())
    // Where its key was looked up for long, the client may be gone already.
    if (raw.destroyed) place.close()
    if (place.isAdmitted === undefined) place.settle().then(() => done(), done)
    else done()
  })
  app.addHook('onSend', ({ place }, _, payload, done) => {
    place?.answer()
    done(null, payload)
  })
}, { name: 'in-flight', dependencies: ['authenticate'], fastify: '5.x' })

/** A request's place among those that are worked on. */
class Place {
  /** Absent while it waits. */
  isAdmitted: boolean | undefined
  readonly #stay: Stay
  #isClosed = false
  #isAnswered = false

  constructor (stay: Stay) {
    this.#stay = stay
    if (typeof stay.isAdmitted === 'boolean') this.isAdmitted = stay.isAdmitted
  }

  /** Waits until it is known whether there is a place. */
  async settle (): Promise<void> {
    this.isAdmitted ??= await this.#stay.isAdmitted
  }

  /** The answer is out, or nobody is there for it any more. */
  close (): void {
    this.#isClosed = true
    if (this.#isAnswered || this.isAdmitted === undefined) this.#stay.leave()
  }

  /** The work has ended, and its answer begins. */
  answer (): void {
    this.#isAnswered = true
    if (this.#isClosed) this.#stay.leave()
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Known in every scope that {@link inFlight} guards, from its hook on. */
    place: Place | undefined
  }
}
