import { setTimeout as pauseFor } from 'node:timers/promises'
import { backendWith } from '../../backends/backend-with.js'
import type { Door } from '../door.js'
import { patiently } from '../patience.js'
import { membersOf } from './members.js'
import { endNativeExport } from './native-export.js'
import { nativePortions } from './native-portions.js'
import type { ExportAsked, ExportPlace, Portion } from './place.js'
import { searchesOf } from './searches.js'
import { survey } from './survey.js'
import { walkedPortions } from './walked-portions.js'

declare const guarded: unique symbol

/** What an export is made of, beside what was asked. */
interface ExportRun {
  /** Where an earlier run stood. */
  readonly place: ExportPlace | undefined
  /** When the export was asked for, ISO 8601. */
  readonly askedAt: string
  /** Nobody wants it any more. */
  readonly signal: AbortSignal
}

/** A datastore as one tenant's export sees it. Only {@link guardedExport} makes one. */
export interface GuardedExport {
  readonly [guarded]: true
  /** The tenant's records, in the order of what was asked; each once, save for what a portion says of itself. */
  portions (asked: ExportAsked, run: ExportRun): AsyncGenerator<Portion>
  /** Tells the datastore that nobody waits for its native export any more. */
  end (place: ExportPlace | undefined): Promise<void>
}

/** Opens one tenant's part of a datastore for an export. */
export function guardedExport (door: Door): GuardedExport {
  return {
    portions: (asked, run) => portions(door, asked, run),
    end: async place => {
      const job = place?.own === 'done' ? undefined : place?.own?.job
      if (job !== undefined) await endNativeExport(door, job)
    }
  } satisfies Omit<GuardedExport, typeof guarded> as GuardedExport
}

async function * portions (opened: Door, asked: ExportAsked, { place: before, askedAt, signal }: ExportRun): AsyncGenerator<Portion> {
  const pause = (ms: number): Promise<unknown> => pauseFor(ms, undefined, { signal })
  const door = patientDoor(opened, { pause, signal })
  const members = asked.groupId === undefined ? undefined : await membersOf(door, asked.groupId)
  let place = before ?? await survey({ door, askedAt, pause }, asked, members)
  if (before === undefined) yield { lines: [], place, isStep: true }
  const searches = searchesOf(asked, place.types, members)
  if (place.own !== undefined && place.own !== 'done') place = yield * nativePortions({ door, searches, since: asked.since, pause, signal }, place)
  yield * walkedPortions({ door, searches, since: asked.since, signal }, place)
}

/** The same door, whose datastore is waited for when it is busy or away for a while. */
function patientDoor (door: Door, { pause, signal }: { readonly pause: (ms: number) => Promise<unknown>, readonly signal: AbortSignal }): Door {
  const { backend } = door
  const send = patiently(backend, { pause })
  const abortable = backendWith(backend, {
    send: async request => {
      signal.throwIfAborted()
      return await send(request)
    }
  })
  return { ...door, backend: abortable }
}
