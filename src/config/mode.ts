/** Which data a key opens: development and test records, or live patient data. */
export const modes = ['test', 'live'] as const
export type Mode = typeof modes[number]
