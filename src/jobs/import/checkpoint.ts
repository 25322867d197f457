import type { Job } from '../model/job.js'
import type { FileState } from '../job-context.js'

/** What is imported, as it was when it was whole. */
export interface InputState extends FileState { readonly lines: number }

/**
 * What the control plane keeps of an import: that its files are not such as they were before. The index is the rest.
 */
export interface ImportCheckpoint {
  /** The input, as far as it is whole; absent before the first source was fetched. */
  readonly input?: InputState
  /** The list of sources, while it is not fetched to its end. */
  readonly sources?: FileState
  /** How many sources were fetched. */
  readonly parts?: number
}

/** The checkpoint of an import, which nothing else writes. */
export function checkpointOf ({ checkpoint }: Pick<Job, 'checkpoint'>): ImportCheckpoint {
  return (checkpoint ?? {}) as ImportCheckpoint
}
