import { Type, type Static } from 'typebox'
import { idOrNoneSchema, idSchema } from '../../keys/random-text.js'

/** The members of a {@link NumberedBatch} from another process, apart from its lines. */
export const batchHead = {
  /**
   * The series to which the number belongs: an unguessable id, created with the file, and again when series diverge.
   */
  ledgerId: idSchema,
  /** The position in the series: 1, 2, 3 … without gaps. */
  number: Type.Integer({ minimum: 1 }),
  /** Created with the batch, whose content never changes: the same id means the same batch. */
  batchId: idSchema
}

/** Lines of a gateway's file since the previous batch. If there was no receipt, the same batch is sent again. */
export interface NumberedBatch<Line> {
  readonly ledgerId: string
  readonly number: number
  readonly batchId: string
  readonly lines: readonly Line[]
}

/** The lines of a batch as a file has them: text that needs no parsing on its way to another process. */
export interface PrintedLines {
  /** A JSON array. */
  readonly json: string
  readonly count: number
}

/** A batch whose lines are parsed where they are read. */
export interface PrintedBatch<Line> extends NumberedBatch<Line>, PrintedLines {}

/** The batch, without parsing its lines. */
export function toPrintedBatch<Line> (
  { ledgerId, number, batchId }: Omit<NumberedBatch<Line>, 'lines'>, { json, count }: PrintedLines
): PrintedBatch<Line> {
  return { ledgerId, number, batchId, json, count, get lines () { return JSON.parse(json) as readonly Line[] } }
}

/** The number of lines in a batch. */
export function countLines<Line> (batch: NumberedBatch<Line> | PrintedBatch<Line>): number {
  return 'count' in batch ? batch.count : batch.lines.length
}

/** A batch as JSON, for another process. */
export function printBatch<Line> (batch: NumberedBatch<Line> | PrintedBatch<Line>): string {
  if (!('json' in batch)) return JSON.stringify(batch)
  const { ledgerId, number, batchId, json } = batch
  return `${JSON.stringify({ ledgerId, number, batchId }).slice(0, -1)},"lines":${json}}`
}

/** The members of a {@link BatchAck} from another process. */
export const ackMembers = {
  number: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  batchId: idOrNoneSchema
}

/**
 * The control plane's position in the series of a batch: the last batch that it has applied, or 0 and an empty id if
 * there is none. It has applied the batch that was sent, or ignored it as already applied, or refused it because an
 * earlier one is missing.
 */
export type BatchAck = { readonly [Name in keyof typeof ackMembers]: Static<typeof ackMembers[Name]> }

/**
 * Sends a batch to the control plane. Repeating it does no harm: each batch is applied exactly once. A refusal is a
 * receipt too, from which the file learns where to continue. So it only throws if the batch did not arrive, or if
 * that is unknown; it is then sent again later. The signal aborts when the sender has waited long enough or stops.
 */
export type SendBatch<Line, Ack extends BatchAck = BatchAck> =
  (batch: NumberedBatch<Line>, signal: AbortSignal) => Promise<Ack>
