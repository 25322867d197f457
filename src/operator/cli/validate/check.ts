import { isUtf8 } from 'node:buffer'
import { findNodeAtLocation, parseTree, type Node, type ParseError } from 'jsonc-parser'
import { parseBody } from '../../../envelope/body.js'
import { Failure, type FailureCode, type Issue } from '../../../envelope/failures.js'
import type { CreateContext } from '../../../mappings/core/element.js'
import type { Mapping } from '../../../mappings/core/mapping.js'
import { validateCreate, buildResource } from '../../../record-input/new-record.js'
import type { Value } from './input.js'

/** An issue and its line. */
interface LocatedIssue extends Issue { readonly line: number }

/** Why POST would refuse a value, in the words of its response. It contains no part of the value. */
export interface LineError {
  /** Where the value begins. */
  readonly line: number
  readonly code: FailureCode
  readonly error: string
  readonly message: string
  readonly issues: readonly LocatedIssue[]
}

/**
 * The error with which POST would refuse a value before it sends a request to a datastore; undefined if it would send
 * one.
 */
export function checkValue (mapping: Mapping, value: Value, createContext: CreateContext): LineError | undefined {
  try {
    buildResource(mapping, validateCreate(mapping, parseValue(value), createContext))
    return undefined
  } catch (error) {
    if (error instanceof Failure) return toLineError(error, value)
    throw error
  }
}

function parseValue ({ line, bytes }: Value): unknown {
  if (bytes === undefined) throw new Failure('PAYLOAD_TOO_LARGE')
  if (line === 1 && byteOrderMark.every((byte, i) => bytes[i] === byte)) {
    throw new Failure('INVALID_JSON', { message: 'Save the file without a byte order mark.' })
  }
  return parseBody(bytes)
}

const byteOrderMark = [0xEF, 0xBB, 0xBF]

function toLineError ({ code, title, message, issues }: Failure, { line, bytes, isDocument }: Value): LineError {
  const text = isDocument && bytes !== undefined ? Buffer.from(bytes) : undefined
  const tree = text && parseDocument(text.toString())
  const getLine = (issue: Issue): number =>
    text === undefined ? line : toLineNumber(text.toString(), findNode(tree?.root, issue.expression?.[0] ?? '')?.offset)
  const begin = text !== undefined && code === 'INVALID_JSON' ? findUnreadableLine(text, tree?.error) : line
  return { line: begin, code, error: title, message, issues: issues.map(issue => ({ ...issue, line: getLine(issue) })) }
}

interface Tree { readonly root?: Node | undefined, readonly error?: number | undefined }

/** A document with the positions of its parts, and the position where it stops being JSON. */
function parseDocument (text: string): Tree {
  const errors: ParseError[] = []
  try {
    return { root: parseTree(text, errors, { disallowComments: true }), error: errors[0]?.offset }
  } catch (error) {
    // For a document that is nested too deep for this parser, positions are not reported.
    if (error instanceof RangeError) return {}
    throw error
  }
}

const toLineNumber = (text: string, offset = 0): number => text.slice(0, offset).split('\n').length

function findUnreadableLine (document: Buffer, error: number | undefined): number {
  const lines = document.toString('latin1').split('\n')
  const garbled = lines.findIndex(line => !isUtf8(Buffer.from(line, 'latin1')))
  return garbled < 0 ? toLineNumber(document.toString(), error) : garbled + 1
}

/** The part of a document that an expression such as `name[0].given` names, or its closest existing ancestor. */
function findNode (root: Node | undefined, expression: string): Node | undefined {
  const steps = [...expression.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, path]) =>
    path === undefined ? name : Number(path)
  )
  const nodes = steps.map((_, i) => root && findNodeAtLocation(root, steps.slice(0, i + 1)))
  return nodes.findLast(node => node !== undefined) ?? root
}
