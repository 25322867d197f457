import pLimit from 'p-limit'

/** How many parts of one request are in progress at once, so that a large one leaves room for others. */
const maxAtOnce = 8

/** Works on each item, a few at a time; once one fails, no other is started. */
export async function mapConcurrently<T, R> (
  items: readonly T[],
  work: (item: T, at: number) => Promise<R>
): Promise<R[]> {
  if (items.length === 0) return []
  const limit = pLimit(maxAtOnce)
  return await Promise.all(
    items.map((item, at) =>
      limit(async () => {
        try {
          return await work(item, at)
        } catch (error) {
          limit.clearQueue()
          throw error
        }
      })
    )
  )
}
