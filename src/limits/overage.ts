/** What one request past the month's allowance costs, in thousandths of a dollar. */
const millsPerRequest = 3n

/** What so many requests past the month's allowance cost in USD, as an exact decimal such as `12.345`. */
export function amountOf (overage: number): string {
  const mills = BigInt(overage) * millsPerRequest
  return `${mills / 1_000n}.${String(mills % 1_000n).padStart(3, '0')}`
}
