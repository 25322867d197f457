import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { Failure } from '../envelope/failures.js'
import type { Job, JobChange } from './model/job.js'

/**
 * What identifies a file's content at one moment. Kept outside of the file, it detects one that was cut, or put back as
 * it was before.
 */
export interface FileState {
  readonly bytes: number
  /** With the length, it determines the content. */
  readonly mark: string
}

/** The state at this moment of a file that is being written. */
export function stateOf ({ bytes, mark }: FileState): FileState {
  return { bytes, mark }
}

/** A part of a file. */
export interface ReadRange {
  /** The first byte; 0 unless told. */
  readonly start?: number
  /** Before which the last one is. A file that does not reach so far is an error; unless told, all that is there. */
  readonly end?: number
  /** The file that is meant, as it was when this was noted; any that was flushed unless told. */
  readonly state?: FileState
}

/**
 * The files of one job, encrypted and sealed: what the gateway did not write is an error when it is read. Names are
 * words that are safe in a path.
 */
export interface JobFiles {
  /**
   * Opens a file to write on from a place, which cuts off what is behind it; 0 begins again. With its mark, only as it
   * was then.
   */
  write: (name: string, from?: number, mark?: string) => Promise<FileWriter>
  /** All of it, or a part. What was flushed can be read. */
  read: (name: string, range?: ReadRange) => Readable
  /** In bytes, as far as they are there, which reading proves; undefined where there is no such file. */
  size: (name: string) => Promise<number | undefined>
  /**
   * Where a database of the job may be. It is not encrypted, so nothing that says anything of a person may be in it.
   */
  path: (name: string) => string
  /**
   * Looks whether such a database may grow. @throws {Failure} BACKEND_UNAVAILABLE when too little is left of the disk
   */
  requireRoom: () => Promise<void>
  /** Deletes one. */
  remove: (name: string) => Promise<void>
}

/** Writes to one file, in order. Its state counts what was written, the place that was begun at included. */
export interface FileWriter extends FileState {
  /** Resolves when more may be written. */
  write: (bytes: Uint8Array) => Promise<void>
  /** Resolves when everything is on the disk. */
  flush: () => Promise<void>
  close: () => Promise<void>
}

/** What whoever does a job's work is given. */
export interface JobContext {
  /** As it stood when it was taken: with the checkpoint that an earlier run left. */
  readonly job: Job
  readonly files: JobFiles
  /** Leave at once, and leave everything in a state to go on from. The reason is a {@link JobInterrupted}. */
  readonly signal: AbortSignal
  /** Notes what was done; of work that nobody wants any more how far it came. @throws when the work is to be left */
  readonly save: (change: Omit<JobChange, 'end'>) => Promise<void>
  readonly log: FastifyBaseLogger
}

/** Work is left before its end: nobody wants it any more, somebody else has it, or the gateway stops. */
export class JobInterrupted extends Error {
  constructor (readonly why: 'cancelled' | 'revoked' | 'lost' | 'stopping') {
    super(`work on the job stopped: ${why}`)
    this.name = 'JobInterrupted'
  }
}

/** Whether work is left because nobody wants it any more. */
export function isCancelled ({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof JobInterrupted && ['cancelled', 'revoked'].includes(reason.why)
}

/** A failure that no retry mends: it ends the job, whoever is to blame. */
export class PermanentFailure extends Failure {}

/**
 * Does a job from where it stands to its end. It may be begun any number of times. A Failure of the client's (4xx) ends
 * the job as failed; an error of a datastore (5xx) lets it be taken up again later, unless it is a {@link
 * PermanentFailure}.
 */
export type JobHandler = (work: JobContext) => Promise<void>
