import { setTimeout as pause } from 'node:timers/promises'

/** Waits until something is so: longer than it takes anywhere, since a machine that is busy or slow is no failure. */
export async function waitUntil (condition: () => unknown, seconds = 180): Promise<void> {
  for (const deadline = Date.now() + seconds * 1_000; !await condition();) {
    if (Date.now() > deadline) throw new Error(`it did not come in ${seconds} seconds`)
    await pause(10)
  }
}
