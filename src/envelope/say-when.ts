/** A message for somebody who does not see its header Retry-After, with the time itself, where it is known. */
export function sayWhen (message: string, seconds?: number): string {
  const when = seconds === undefined || seconds === 0 ? 'later' : `in ${seconds} second${seconds === 1 ? '' : 's'}`
  return message.replaceAll('after the time in Retry-After', when)
}
