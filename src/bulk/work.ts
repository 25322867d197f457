import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { Failure } from '../envelope/failures.js'
import type { Job, JobChange } from '../jobs/job.js'

/** The files of one job, encrypted; names are words that are safe in a path. */
export interface JobFiles {
  /** Opens a file to write on from a place, which cuts off what is behind it; 0 begins anew. */
  write: (name: string, from?: number) => Promise<FileWriter>
  /** Bytes from `start` to before `end`; all unless told. */
  read: (name: string, range?: { readonly start?: number, readonly end?: number }) => Readable
  /** In bytes; undefined where there is no such file. */
  size: (name: string) => Promise<number | undefined>
  /** Where a database of the job may be. It is not encrypted, so nothing that says anything of a person may be in it. */
  path: (name: string) => string
  /** Deletes one. */
  remove: (name: string) => Promise<void>
}

/** Writes to one file, in order. */
export interface FileWriter {
  /** Bytes written so far, the place that was begun at included. */
  readonly bytes: number
  /** Resolves when more may be written. */
  write: (bytes: Uint8Array) => Promise<void>
  /** Resolves when everything is on the disk. */
  flush: () => Promise<void>
  close: () => Promise<void>
}

/** What whoever does a job's work is given. */
export interface Work {
  /** As it stood when it was taken: with the checkpoint that an earlier run left. */
  readonly job: Job
  readonly files: JobFiles
  /** Leave at once, and leave everything in a state to go on from. The reason is a {@link WorkLeft}. */
  readonly signal: AbortSignal
  /** Notes what was done. @throws when the work is to be left */
  readonly save: (change: Omit<JobChange, 'end'>) => Promise<void>
  readonly log: FastifyBaseLogger
}

/** Work is left before its end: nobody wants it any more, somebody else has it, or the gateway stops. */
export class WorkLeft extends Error {
  constructor (readonly why: 'cancelled' | 'revoked' | 'lost' | 'stopping') {
    super(`the work is left: ${why}`)
    this.name = 'WorkLeft'
  }
}

/** Trouble that no later attempt mends: it ends the job as failed, whoever is to blame. */
export class FinalFailure extends Failure {}

/**
 * Does a job from where it stands to its end. It may be begun any number of times. A Failure of the client's (4xx) ends the job as failed;
 * trouble of a datastore (5xx) lets it be taken up again later, unless it is a {@link FinalFailure}.
 */
export type DoJob = (work: Work) => Promise<void>
