/** The rule for new passwords (NIST SP 800-63B §3.1.1.2): a minimum length, and no common password. */
import { dictionary } from "@zxcvbn-ts/language-common"

/** Lengths in characters, not in UTF-16 units. */
const minLength = 8
const maxLength = 1000

/** The most common passwords of published leaks, in lower case. Built for the first check. */
let common: ReadonlySet<string> | undefined

const isCommon = (password: string): boolean => {
  common ??= new Set(dictionary["passwords-common"].filter(({ length }) => length >= minLength))
  return common.has(password.toLowerCase())
}

/** Message about a password that is not acceptable. */
export const rule = `must be text of ${minLength} to ${maxLength} characters, and not one of the most common passwords`

/** Whether a new password follows the rule. Stored passwords are not checked. */
export const isAcceptable = (password: string): boolean => {
  const { length } = [...password.normalize("NFC")]
  return length >= minLength && length <= maxLength && !isCommon(password)
}
