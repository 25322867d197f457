/** The price of one request above the monthly quota, in thousandths of a US dollar. */
const millsPerRequest = 3n

/** The price of `overage` requests above the monthly quota in USD, as an exact decimal such as `12.345`. */
export function overageAmount (overage: number): string {
  const mills = BigInt(overage) * millsPerRequest
  return `${mills / 1_000n}.${String(mills % 1_000n).padStart(3, '0')}`
}
