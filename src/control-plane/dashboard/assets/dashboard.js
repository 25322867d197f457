/**
 * Everything works without this file: it shows times in the reader's zone, lets one press copy a text and a second
 * press send nothing, and keeps what was typed into a form until it is saved.
 */

// In the language of the page, and with the time zone, so that it is not mistaken for another one.
const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' })

for (const time of document.querySelectorAll('time[datetime]')) {
  const moment = new Date(time.dateTime)
  // A day without an hour is the same day in every zone.
  if (!time.dateTime.includes('T') || Number.isNaN(moment.getTime())) continue
  time.textContent = short.format(moment)
}

const copiedForMs = 2_000
const status = document.createElement('p')
status.role = 'status'
status.className = 'unseen'
document.body.append(status)

async function copy (button) {
  const text = button.textContent
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
    button.textContent = 'Copied'
  } catch {
    // The reader, or a page that is not served over https, does not allow it.
    button.textContent = 'Select and copy it by hand'
  }
  // The button keeps its name for screen readers, which distinguish it from this text.
  status.textContent = button.textContent
  setTimeout(() => {
    button.textContent = text
    status.textContent = ''
  }, copiedForMs)
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', () => copy(button))
}

/** A person who stops the loading of the response may press again after this time. */
const pressedForMs = 10_000
const sent = new WeakSet()
let isServed = false

// A second press would replace the first, whose response may show a secret that is shown only once.
for (const form of document.querySelectorAll('form[method=post]')) {
  form.addEventListener('submit', event => {
    if (sent.has(form)) event.preventDefault()
    sent.add(form)
    isServed = true
    setTimeout(() => sent.delete(form), pressedForMs)
  })
}

// The way back in the browser may show the page as it was left: with a form that makes nothing a second time.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted && isServed) window.location.reload()
})

// The way back in the browser must not show a secret again.
window.addEventListener('pagehide', () => {
  for (const secret of document.querySelectorAll('[data-secret]')) secret.remove()
})

const typedAs = 'clinigate-typed'
const { member } = document.body.dataset
const isTyped = ({ name, type, checked }) => name !== '' && !['hidden', 'password', 'submit'].includes(type) && (type !== 'radio' || checked)

/** For this tab and this member alone, and never a password. */
function storeTyped (form) {
  const typed = [...form.elements].filter(isTyped).map(({ name, value }) => [name, value])
  sessionStorage.setItem(typedAs, JSON.stringify({ member, action: form.action, typed }))
}

function restoreTyped ({ action, typed }) {
  const form = [...document.forms].find(form => form.method === 'post' && form.action === action)
  if (form === undefined || typed.length === 0) return
  for (const [name, value] of typed) {
    const field = form.elements.namedItem(name)
    if (field !== null) field.value = value
  }
  const notice = document.createElement('p')
  notice.className = 'notice notice-warning'
  notice.textContent = 'Not saved yet. What you typed is here again: check it and send it.'
  notice.tabIndex = -1
  form.before(notice)
  notice.focus()
}

if (member !== undefined) {
  for (const form of document.querySelectorAll('form[method=post]')) form.addEventListener('submit', () => storeTyped(form))
}

// What was sent is saved with the next page, unless that is an error or the way through the sign-in.
const stored = JSON.parse(sessionStorage.getItem(typedAs))
if (stored !== null && (member === undefined || document.querySelector('[data-unsaved]') !== null)) {
  sessionStorage.setItem(typedAs, JSON.stringify({ ...stored, isUnsaved: true }))
} else {
  sessionStorage.removeItem(typedAs)
  if (stored?.isUnsaved && stored.member === member) restoreTyped(stored)
}
