import OAuth2Strategy from "passport-oauth2"
import { type Client, numberAt, property, type Session, type Settings, stringAt, type Tokens } from "./Client.ts"

/** Callbacks of Passport, one of which a copy of the strategy calls. */
interface Outcome {
  readonly redirect?: string
  readonly success?: Tokens
}

/** The strategy with access to its protected client, like strategies of providers. */
class Strategy extends OAuth2Strategy {
  run(request: object): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const copy = Object.assign(Object.create(this), {
        redirect: (url: string) => resolve({ redirect: url }),
        success: (tokens: Tokens) => resolve({ success: tokens }),
        fail: (challenge: unknown) => reject(new Error(JSON.stringify(challenge))),
        error: reject
      })
      copy.authenticate(request)
    })
  }

  /** Refreshes like passport-oauth2-refresh. */
  refresh(token: string): Promise<Tokens> {
    return new Promise((resolve, reject) =>
      this._oauth2.getOAuthAccessToken(
        token,
        { grant_type: "refresh_token" },
        (error, access, refresh) =>
          error === null ? resolve({ access: access ?? "", refresh: refresh ?? "" }) : reject(this.explain(error))
      )
    )
  }

  private explain(error: unknown): unknown {
    const status = numberAt(error, "statusCode") ?? 0
    const parsed = this.parseErrorResponse(property(error, "data"), status)
    return parsed === null ? error : Object.assign(parsed, { status })
  }
}

const connect = async (settings: Settings) => {
  const make = (pkce: boolean) =>
    new Strategy({
      authorizationURL: `${settings.url}/oauth/authorize`,
      tokenURL: `${settings.url}/oauth/token`,
      clientID: settings.clientId,
      clientSecret: settings.clientSecret,
      callbackURL: settings.redirectUri,
      scope: settings.scope,
      state: true,
      pkce
    }, (access: string, refresh: string, _profile: unknown, verified: OAuth2Strategy.VerifyCallback) =>
      verified(null, { access, refresh }))

  const session: Session = {
    authorize: async ({ pkce }) => {
      const strategy = make(pkce)
      const signedIn = { session: {}, headers: {} }
      const { redirect } = await strategy.run({ ...signedIn, query: {} })
      return {
        url: redirect ?? "",
        exchange: async (back) => {
          const { success } = await strategy.run({ ...signedIn, query: Object.fromEntries(back.searchParams) })
          if (success === undefined) throw new Error("the strategy did not let the user in")
          return success
        }
      }
    },
    refresh: ({ refresh }) => make(false).refresh(refresh),
    readError: (thrown) => ({ code: stringAt(thrown, "code"), status: numberAt(thrown, "status") })
  }
  return session
}

export const post: Client = { library: "passport-oauth2", transport: "body", surface: OAuth2Strategy, connect }
