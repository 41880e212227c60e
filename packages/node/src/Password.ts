/** The rule for new passwords (NIST SP 800-63B §3.1.1.2): a minimum length, and none that everybody tries first. */
import { dictionary } from "@zxcvbn-ts/language-common"

/** Length in characters, as people count them. */
const minLength = 8
const maxLength = 1000

/** The most common passwords of published leaks, in lower case; made when the first password is checked. */
let common: ReadonlySet<string> | undefined

const isCommon = (password: string): boolean => {
  common ??= new Set(dictionary["passwords-common"].filter(({ length }) => length >= minLength))
  return common.has(password.toLowerCase())
}

/** What a new password must be. */
export const rule = `must be text of ${minLength} to ${maxLength} characters, and not one of the most common passwords`

/** Whether a new password keeps the rule. Passwords that are stored already are not checked. */
export const isAcceptable = (password: string): boolean => {
  const { length } = [...password.normalize("NFC")]
  return length >= minLength && length <= maxLength && !isCommon(password)
}
