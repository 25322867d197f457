/** A failed assertion: the titles around it from the file inwards, and its diagnostics. */
export interface FailedAssertion { readonly path: string, readonly title: string, readonly shows: string }

const subtest = /^((?: {4})*)# Subtest: (.*)/
const point = /^((?: {4})*)not ok \d+ - (.*)/

/**
 * Every failed assertion in the TAP of a run, and every group that failed though all in it passed, such as one whose
 * process died. Empty when all passed.
 */
export function findFailedAssertions (tap: string): FailedAssertion[] {
  const lines = tap.split('\n')
  const failed: FailedAssertion[] = []
  const titles: string[] = []
  /** How many failures there were when the group of each depth began. */
  const before: number[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const begun = subtest.exec(line)
    if (begun) {
      const depth = begun[1]!.length / 4
      titles.splice(depth, Infinity, begun[2]!)
      before[depth] = failed.length
    }
    const diagnostics = readDiagnostics(lines, i + 1)
    const ended = point.exec(line)
    if (ended) {
      const depth = ended[1]!.length / 4
      const title = ended[2]!.replace(/ # time=.*/, '')
      const isGroup = title === titles[depth]?.trim()
      if (!isGroup || before[depth] === failed.length) {
        failed.push({ path: titles.slice(0, depth).join(' > '), title, shows: diagnostics.join('\n') })
      }
    }
    i += diagnostics.length
  }
  return failed
}

/** The block of YAML that begins at a line; empty where none does. Its text may look like TAP. */
function readDiagnostics (lines: readonly string[], start: number): string[] {
  if (!/^ *---$/.test(lines[start] ?? '')) return []
  const end = lines.indexOf(lines[start]!.replace('---', '...'), start)
  return lines.slice(start, end === -1 ? undefined : end + 1)
}
