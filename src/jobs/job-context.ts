import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { Failure } from '../envelope/failures.js'
import type { Job, JobChange } from './model/job.js'

/**
 * Identifies a file's content at a point in time. Stored outside of the file, it detects a file that was truncated, or
 * replaced by an earlier version.
 */
export interface FileState {
  readonly bytes: number
  /** With the length, it determines the content. */
  readonly mark: string
}

/** The current state of a file that is being written. */
export function toFileState ({ bytes, mark }: FileState): FileState {
  return { bytes, mark }
}

/** A part of a file. */
export interface ReadRange {
  /** The offset of the first byte; 0 by default. */
  readonly start?: number
  /** The offset after the last byte. A shorter file is an error; by default, reading ends with the file. */
  readonly end?: number
  /** The recorded state of the file to read; by default, any flushed state. */
  readonly state?: FileState
}

/**
 * The files of one job, encrypted and authenticated: reading fails for content that the gateway did not write. Names
 * must be safe in a path.
 */
export interface JobFiles {
  /**
   * Opens a file to write from an offset, and cuts off everything after it; 0 starts the file again. With a mark, the
   * file must be in that state.
   */
  write: (name: string, from?: number, mark?: string) => Promise<FileWriter>
  /** Reads a file, or a range of it. Flushed content can be read. */
  read: (name: string, range?: ReadRange) => Readable
  /** The size of a file in bytes, which only reading authenticates; undefined if there is no such file. */
  size: (name: string) => Promise<number | undefined>
  /** The path for a database of the job. It is not encrypted, so it must not contain personal data. */
  path: (name: string) => string
  /**
   * Checks whether such a database may grow.
   * @throws {Failure} BACKEND_UNAVAILABLE on a full disk, RATE_LIMITED above the owner's limit
   */
  requireRoom: () => Promise<void>
  /** Deletes a file. */
  remove: (name: string) => Promise<void>
}

/** Writes to one file, in order. Its state includes the content before the offset of its start. */
export interface FileWriter extends FileState {
  /** Resolves when more may be written. */
  write: (bytes: Uint8Array) => Promise<void>
  /** Resolves when everything is on disk. */
  flush: () => Promise<void>
  close: () => Promise<void>
}

/** The parts that a handler needs to run a job. */
export interface JobContext {
  /** The job when it was claimed, with the checkpoint of an earlier run. */
  readonly job: Job
  readonly files: JobFiles
  /** When aborted, stop immediately in a state that can be resumed. The reason is a {@link JobInterrupted}. */
  readonly signal: AbortSignal
  /** Saves a change; for a cancelled job, its final progress. @throws when the work has to stop */
  readonly save: (change: Omit<JobChange, 'end'>) => Promise<void>
  readonly log: FastifyBaseLogger
}

/** Work stops before its end: the client or a revoked key ended it, another gateway has it, or this one stops. */
export class JobInterrupted extends Error {
  constructor (readonly why: 'cancelled' | 'revoked' | 'lost' | 'stopping') {
    super(`work on the job stopped: ${why}`)
    this.name = 'JobInterrupted'
  }
}

/** Whether the work stops because the job was cancelled or its key was revoked. */
export function isCancelled ({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof JobInterrupted && ['cancelled', 'revoked'].includes(reason.why)
}

/** A failure that no retry can fix: it ends the job. */
export class PermanentFailure extends Failure {}

/**
 * Runs a job from its checkpoint to its end. It may be started any number of times. A Failure caused by the client
 * (4xx) ends the job as failed; after an error of a datastore (5xx) the job is retried later, unless it is a
 * {@link PermanentFailure}.
 */
export type JobHandler = (work: JobContext) => Promise<void>
