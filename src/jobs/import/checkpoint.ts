import type { Job } from '../model/job.js'
import type { FileState } from '../job-context.js'

/** The input of an import, with its state when it was last complete. */
export interface InputState extends FileState {
  readonly lines: number
  /** How many of the lines are blank, so that they have no result; absent for none. */
  readonly blank?: number
}

/** The state of an import in the control plane, which shows that its files are not older. The index holds the rest. */
export interface ImportCheckpoint {
  /** The input up to the last complete source; absent before the first source was fetched. */
  readonly input?: InputState
  /** The list of sources, until all of them were fetched. */
  readonly sources?: FileState
  /** How many sources were fetched. */
  readonly parts?: number
}

/** The checkpoint of an import, which only imports write; empty when the job has none. */
export function checkpointOf ({ checkpoint }: Pick<Job, 'checkpoint'>): ImportCheckpoint {
  return (checkpoint ?? {}) as ImportCheckpoint
}

/** How many lines of an input have a record, and so a result. */
export const recordsIn = ({ lines, blank = 0 }: InputState): number => lines - blank
