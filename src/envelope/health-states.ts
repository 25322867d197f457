/** The states of the gateway's dependencies; `degraded`: some requests will fail or work from old data. */
export const healthStates = ['ok', 'degraded'] as const
export type Health = typeof healthStates[number]
