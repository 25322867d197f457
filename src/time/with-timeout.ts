/**
 * The result of some work, or `fallback` if it takes longer than `ms`; the work itself continues. Rejects as the work
 * does.
 */
export function withTimeout<T, L> (work: Promise<T>, ms: number, fallback: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, fallback)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * The result of some work, or undefined as soon as `signal` aborts; the work itself continues. Rejects as the work
 * does.
 */
export function untilAborted<T> (work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave)
    // The signal may outlive the work by far.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
