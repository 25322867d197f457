import { setTimeout as pause } from 'node:timers/promises'

/** Waits until a condition holds: longer than it takes anywhere, since a busy or slow machine is no failure. */
export async function waitUntil (condition: () => unknown, seconds = 180): Promise<void> {
  for (const deadline = Date.now() + seconds * 1_000; !await condition();) {
    if (Date.now() > deadline) throw new Error(`it did not come in ${seconds} seconds`)
    await pause(10)
  }
}
