import type { LineError } from './check.js'

/** How much was checked, and of that how many values are faulty. */
export interface Totals { readonly values: number, readonly faulty: number }

/** A fault for people: a line of text for each thing to correct. */
export function formatError ({ line, error, message, issues }: LineError): string {
  const texts = issues.map(issue => `line ${issue.line}: ${issue.diagnostics}\n`)
  return texts.length > 0 ? texts.join('') : `line ${line}: ${error}. ${message}\n`
}

/** A fault for programs: one line of JSON. */
export const asJson = (fault: LineError): string => `${JSON.stringify(fault)}\n`

/** The last line of a report. */
export function summary ({ values, faulty }: Totals): string {
  if (values === 0) return 'The input contains no records.\n'
  return `${counted(values, 'record')} checked, ${faulty === 0 ? 'none' : faulty} invalid.\n`
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
