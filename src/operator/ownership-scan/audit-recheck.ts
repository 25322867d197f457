import type { StoredResource } from '../../mappings/fhir.js'
import { collectReferences } from '../../tenant-guard/writes/references.js'
import type { ReferenceFinding, ScanIndex, SuspectOf } from './scan-index.js'
import { fetchCurrent } from './walk-look-up.js'
import { ownerOf } from './walk-owner.js'
import type { Send } from '../../tenant-guard/retry.js'

/** Where references are in doubt. */
interface Doubts {
  readonly send: Send
  readonly baseUrl: string
  readonly tenantSystem: string
  readonly ledger: ScanIndex
}

const suspectsAtOnce = 200

/** Checks each unverified reference once more, and records a fault if it is still wrong. */
export async function verifyFindings (doubts: Doubts): Promise<void> {
  const { send, ledger } = doubts
  for (const suspects of ledger.suspects(suspectsAtOnce)) {
    const sources = await fetchCurrent(send, suspects.map(({ source }) => source), 'whole')
    const targets = await targetsOf(suspects, doubts)
    for (const suspect of suspects) {
      const source = sources.get(suspect.source)
      if (source !== undefined && stillRefers(source, suspect, doubts)) {
        noteFault(suspect, { ...doubts, tenantId: tenantOf(source, doubts), targets })
      }
    }
  }
}

/** The same for the references of one tenant only, whose records need not be read again or are not tagged yet. */
export async function recheckTargets (doubts: Doubts, tenantId: string): Promise<void> {
  for (const suspects of doubts.ledger.suspects(suspectsAtOnce)) {
    const targets = await targetsOf(suspects, doubts)
    for (const suspect of suspects) noteFault(suspect, { ...doubts, tenantId, targets })
  }
}

function targetsOf (suspects: readonly SuspectOf[], { send }: Doubts): ReturnType<typeof fetchCurrent> {
  return fetchCurrent(send, suspects.map(({ target }) => target).filter(target => target !== undefined), 'meta')
}

function stillRefers (source: StoredResource, { path, target }: SuspectOf, { baseUrl }: Doubts): boolean {
  return collectReferences(source, [baseUrl]).some(link => link.path === path && link.record === target)
}

interface Known extends Doubts {
  readonly tenantId: string | undefined
  readonly targets: ReadonlyMap<string, StoredResource>
}

function noteFault ({ source, path, target }: SuspectOf, known: Known): void {
  const { tenantId, targets, ledger } = known
  const record = target === undefined ? undefined : targets.get(target)
  const targetTenantId = record && tenantOf(record, known)
  if (tenantId === undefined || targetTenantId === tenantId) return
  ledger.addFault({
    source,
    path,
    target,
    tenantId,
    targetTenantId,
    finding: findingOf(target, record, targetTenantId)
  } satisfies ReferenceFinding)
}

function tenantOf (record: StoredResource, { tenantSystem }: Doubts): string | undefined {
  const owner = ownerOf(record, tenantSystem)
  return owner.kind === 'one' ? owner.tenantId : undefined
}

function findingOf (
  target: string | undefined,
  record: StoredResource | undefined,
  targetTenantId: string | undefined
): string {
  if (target === undefined) return 'outside-reference'
  if (record === undefined) return 'dangling-reference'
  return targetTenantId === undefined ? 'untagged-reference' : 'foreign-reference'
}
