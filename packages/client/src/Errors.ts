/** Errors, by the action that they require. */

/** The user must consent again: the grant has ended, or never existed. */
export class ConnectAgain extends Error {
  override readonly name = "ConnectAgain"
  readonly user: string
  constructor(user: string) {
    super(`user ${user} has to connect again`)
    this.user = user
  }
}

/** The service is temporarily unavailable. Nothing is lost: repeat the call later. */
export class TryLater extends Error {
  override readonly name = "TryLater"
  /** Seconds to wait before the next attempt, if the service has named a time. */
  readonly retryAfter: number | undefined
  constructor(message: string, retryAfter?: number, options?: ErrorOptions) {
    super(message, options)
    this.retryAfter = retryAfter
  }
}

/** The user has refused consent. */
export class AccessDenied extends Error {
  override readonly name = "AccessDenied"
  constructor() {
    super("access_denied: the user has not allowed the access")
  }
}

/** The service refuses the request permanently: a mistake of the application, or a redirect of another session. */
export class Refused extends Error {
  override readonly name = "Refused"
  /** The OAuth error, such as `invalid_client`; `invalid_state` and `invalid_issuer` if the redirect belongs to another session or service. */
  readonly code: string
  constructor(code: string, description: string) {
    super(`${code}: ${description}`)
    this.code = code
  }
}
