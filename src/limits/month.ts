/** The month of a moment that is ISO 8601 in UTC. */
export const monthOf = (at: string): string => at.slice(0, 7)
