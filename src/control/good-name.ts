import { ControlRefused } from './refused.js'

const scripts = '\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Gujr}\\p{sc=Guru}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Orya}\\p{sc=Sinh}\\p{sc=Taml}\\p{sc=Telu}'

/**
 * A joiner or non-joiner where Persian, Syriac and Indic words are spelled with it. Anywhere else it is invisible, and two names
 * would look like one: https://www.rfc-editor.org/rfc/rfc5892#appendix-A
 */
const spellingJoiner = new RegExp(`(?<=[${scripts}]\\p{M}*)[\u200C\u200D](?=[${scripts}])`, 'gu')

const severalAsOne = '\\p{RGI_Emoji_ZWJ_Sequence}'

/** An emoji of several, such as the health worker: only those that have a look of their own. https://www.unicode.org/reports/tr51/#def_rgi_set */
const joinedEmoji = new RegExp(severalAsOne, 'gv')

/** A name fit for lists, logs and terminals, without space around it. @throws {ControlRefused} invalid */
export function goodName (name: string): string {
  const trimmed = name.trim()
  if (trimmed === '' || trimmed.length > 200 || /\p{C}/u.test(trimmed.replace(spellingJoiner, '').replace(joinedEmoji, ''))) {
    throw new ControlRefused('invalid', 'A name must have 1 to 200 characters, all of them visible.', 'name')
  }
  return trimmed
}
