import { createHash, randomBytes } from "node:crypto"
import * as simple from "simple-oauth2"
import { type Client, numberAt, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

const connect = (authorizationMethod: "body" | "header") => async (settings: Settings) => {
  const oauth = new simple.AuthorizationCode({
    client: { id: settings.clientId, secret: settings.clientSecret },
    auth: {
      tokenHost: settings.url,
      tokenPath: "/oauth/token",
      authorizePath: "/oauth/authorize",
      revokePath: "/oauth/revoke"
    },
    options: { authorizationMethod }
  })
  const wrap = ({ access, refresh }: { readonly access: string; readonly refresh: string }) =>
    oauth.createToken({ access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: 28800 })

  const session: Session = {
    // It does not support PKCE, and passes the parameters of the application through.
    authorize: async ({ pkce }) => {
      const state = randomBytes(16).toString("base64url")
      const verifier = randomBytes(32).toString("base64url")
      const challenge = createHash("sha256").update(verifier).digest("base64url")
      const parameters = {
        redirect_uri: settings.redirectUri,
        scope: settings.scope,
        state,
        ...(pkce ? { code_challenge: challenge, code_challenge_method: "S256" } : {})
      }
      return {
        url: oauth.authorizeURL(parameters),
        exchange: async (back) => {
          if (back.searchParams.get("state") !== state) throw new Error("state is another one")
          const code = back.searchParams.get("code") ?? ""
          const redemption = { code, redirect_uri: settings.redirectUri, ...(pkce ? { code_verifier: verifier } : {}) }
          const { token } = await oauth.getToken(redemption)
          return toTokens(token["access_token"], token["refresh_token"])
        }
      }
    },
    refresh: async (tokens) => {
      const { token } = await wrap(tokens).refresh()
      return toTokens(token["access_token"], token["refresh_token"])
    },
    revoke: (tokens) => wrap(tokens).revokeAll(),
    readError: (thrown) => ({
      code: stringAt(thrown, "data", "payload", "error"),
      status: numberAt(thrown, "output", "statusCode")
    })
  }
  return session
}

const about = { library: "simple-oauth2", surface: simple } as const

export const post: Client = { ...about, transport: "body", connect: connect("body") }
export const basic: Client = { ...about, transport: "Basic header", connect: connect("header") }
