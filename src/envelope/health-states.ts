/** How something that the gateway needs is; `degraded` means that some requests will fail or work from old data. */
export const healthStates = ['ok', 'degraded'] as const
export type Health = typeof healthStates[number]
