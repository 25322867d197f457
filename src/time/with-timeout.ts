/**
 * The result of some work, or `late` if it takes longer than `ms`, which the work itself does not notice. Rejects as
 * the work does.
 */
export function withTimeout<T, L> (work: Promise<T>, ms: number, fallback: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, fallback)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
