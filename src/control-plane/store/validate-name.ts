import { ControlError } from './control-error.js'

const scripts =
  '\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Gujr}\\p{sc=Guru}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Orya}\\p{sc=Sinh}\\p{sc=Taml}\\p{sc=Telu}'

/**
 * A zero-width joiner or non-joiner where the spelling of Persian, Syriac and Indic words needs it. Elsewhere it is
 * invisible, and two names would look the same: https://www.rfc-editor.org/rfc/rfc5892#appendix-A
 */
const spellingJoiner = new RegExp(`(?<=[${scripts}]\\p{M}*)[\u200C\u200D](?=[${scripts}])`, 'gu')

const severalAsOne = '\\p{RGI_Emoji_ZWJ_Sequence}'

/**
 * A joined emoji such as the health worker, if it is in the recommended set (RGI):
 * https://www.unicode.org/reports/tr51/#def_rgi_set
 */
const joinedEmoji = new RegExp(severalAsOne, 'gv')

/** The trimmed name, if it is safe to show in lists, logs and terminals. @throws {ControlError} invalid */
export function parseName (name: string): string {
  const trimmed = name.trim()
  if (
    trimmed === '' ||
    trimmed.length > 200 ||
    /\p{C}/u.test(trimmed.replace(spellingJoiner, '').replace(joinedEmoji, ''))
  ) {
    throw new ControlError('invalid', 'A name must have 1 to 200 characters, all of them visible.', 'name')
  }
  return trimmed
}
