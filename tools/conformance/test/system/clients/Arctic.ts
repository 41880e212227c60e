import * as arctic from "arctic"
import { type Client, numberAt, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

const connect = async (settings: Settings) => {
  const client = new arctic.OAuth2Client(settings.clientId, settings.clientSecret, settings.redirectUri)
  const authorization = `${settings.url}/oauth/authorize`
  const token = `${settings.url}/oauth/token`
  const scopes = settings.scope.split(" ")
  const pair = (tokens: arctic.OAuth2Tokens) => toTokens(tokens.accessToken(), tokens.refreshToken())

  const session: Session = {
    authorize: async ({ pkce }) => {
      const state = arctic.generateState()
      const verifier = arctic.generateCodeVerifier()
      const { S256 } = arctic.CodeChallengeMethod
      const url = pkce
        ? client.createAuthorizationURLWithPKCE(authorization, state, S256, verifier, scopes)
        : client.createAuthorizationURL(authorization, state, scopes)
      return {
        url: url.href,
        exchange: async (back) => {
          if (back.searchParams.get("state") !== state) throw new Error("state is another one")
          const code = back.searchParams.get("code") ?? ""
          return pair(await client.validateAuthorizationCode(token, code, pkce ? verifier : null))
        }
      }
    },
    refresh: async ({ refresh }) => pair(await client.refreshAccessToken(token, refresh, scopes)),
    revoke: ({ access }) => client.revokeToken(`${settings.url}/oauth/revoke`, access),
    // The status of an error that it can parse is lost.
    readError: (thrown) => ({ code: stringAt(thrown, "code"), status: numberAt(thrown, "status") })
  }
  return session
}

export const basic: Client = { library: "arctic", transport: "Basic header", surface: arctic, connect }
