/** Everything works without this file: it shows times in the reader's zone and lets one press copy a text. */

const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

for (const time of document.querySelectorAll('time[datetime]')) {
  const moment = new Date(time.dateTime)
  // A day without an hour is the same day in every zone.
  if (!time.dateTime.includes('T') || Number.isNaN(moment.getTime())) continue
  time.textContent = short.format(moment)
  time.title = `${long.format(moment)} (${moment.toISOString()})`
}

const copiedForMs = 2_000

async function copy (button) {
  const text = button.textContent
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
    button.textContent = 'Copied'
  } catch {
    // The reader, or a page that is not served over https, does not allow it.
    button.textContent = 'Select and copy it by hand'
  }
  setTimeout(() => { button.textContent = text }, copiedForMs)
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', () => copy(button))
}

// The way back in the browser must not show a secret again.
window.addEventListener('pagehide', () => {
  for (const secret of document.querySelectorAll('[data-secret]')) secret.remove()
})
