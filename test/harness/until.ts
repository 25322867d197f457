import { setTimeout as pause } from 'node:timers/promises'

/** Waits until something is so. */
export async function until (condition: () => unknown, seconds = 60): Promise<void> {
  for (const deadline = Date.now() + seconds * 1_000; !await condition();) {
    if (Date.now() > deadline) throw new Error(`it did not come in ${seconds} seconds`)
    await pause(10)
  }
}
