/** Opened resources, to be closed in reverse order, each even when another one fails. */
export class Disposables {
  readonly #opened: Array<{ close (): unknown }> = []

  add<T extends { close (): unknown }> (thing: T): T {
    this.#opened.push(thing)
    return thing
  }

  async close (): Promise<void> {
    const failures: unknown[] = []
    for (const thing of this.#opened.splice(0).reverse()) {
      try {
        await thing.close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some resources could not be closed')
  }
}
