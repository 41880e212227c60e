/** The address after a form. It must be one of this service: an open redirect would help phishing. */

/** A path, with a query if any, in printable ASCII. A second slash or backslash would name a host. */
const local = /^\/(?![/\\])[!-~]*$/

/** Maximum length of an address that the sign-in page carries: it leaves 4 KiB of Node's 16 KiB for other headers. */
export const maxLength = 12_288

/** The address as given if it is a path of this service, else `otherwise`. */
export const safe = (returnTo: string | undefined, otherwise: string): string =>
  returnTo !== undefined && returnTo.length <= maxLength && local.test(returnTo) && !returnTo.includes("\\")
    ? returnTo
    : otherwise
