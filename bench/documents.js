// Writes the results of a benchmark into the documents, between two markers, so that no figure is typed by hand.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine } from './figures.js'

const root = join(import.meta.dirname, '..')

/** The context of the figures: the day, the machine and the software. */
export const describeRun = now => `Measured on ${now.toISOString().slice(0, 10)}: ${describeMachine()}.`

/**
 * Replaces the text between `<!-- bench NAME -->` and `<!-- /bench NAME -->` in a document.
 * @throws {Error} when the markers are missing
 */
export function writeBetweenMarkers (document, name, text) {
  const file = join(root, document)
  const [begin, end] = [`<!-- bench ${name} -->`, `<!-- /bench ${name} -->`]
  const before = readFileSync(file, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${document} has no markers ${begin} and ${end}`)
  writeFileSync(file, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`)
}
