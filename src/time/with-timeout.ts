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
