import ClientOAuth2 from "client-oauth2"
import { createHash, randomBytes } from "node:crypto"
import { type Client, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

/** Sends the secret by Basic, or the client's credentials in the query without a header. */
const connect = (transport: "Basic header" | "query") => async (settings: Settings) => {
  const oauth = new ClientOAuth2({
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    accessTokenUri: `${settings.url}/oauth/token`,
    authorizationUri: `${settings.url}/oauth/authorize`,
    redirectUri: settings.redirectUri,
    scopes: settings.scope.split(" ")
  })
  const credentials: ClientOAuth2.Options = transport === "Basic header" ? {} : {
    query: { client_id: settings.clientId, client_secret: settings.clientSecret },
    headers: { Authorization: [] }
  }

  const session: Session = {
    // It does not support PKCE, and passes the parameters of the application through.
    authorize: async ({ pkce }) => {
      const state = randomBytes(16).toString("base64url")
      const verifier = randomBytes(32).toString("base64url")
      const challenge = createHash("sha256").update(verifier).digest("base64url")
      return {
        url: oauth.code.getUri({
          state,
          ...(pkce ? { query: { code_challenge: challenge, code_challenge_method: "S256" } } : {})
        }),
        exchange: async (back) => {
          const proof = pkce ? { body: { code_verifier: verifier } } : {}
          const { accessToken, refreshToken } = await oauth.code.getToken(back.href, {
            state,
            ...credentials,
            ...proof
          })
          return toTokens(accessToken, refreshToken)
        }
      }
    },
    refresh: async ({ access, refresh }) => {
      const { accessToken, refreshToken } = await oauth.createToken(access, refresh, {}).refresh(credentials)
      return toTokens(accessToken, refreshToken)
    },
    // The status of an error that it can parse is lost.
    readError: (thrown) => ({ code: stringAt(thrown, "body", "error"), status: undefined })
  }
  return session
}

const about = { library: "client-oauth2", surface: ClientOAuth2 } as const

export const basic: Client = { ...about, transport: "Basic header", connect: connect("Basic header") }
export const query: Client = { ...about, transport: "query", connect: connect("query") }
