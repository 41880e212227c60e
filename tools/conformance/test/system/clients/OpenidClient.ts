import * as openid from "openid-client"
import { type Client, numberAt, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

const connect = (authentication: (secret: string) => openid.ClientAuth) => async (settings: Settings) => {
  const config = await openid.discovery(
    new URL(settings.url),
    settings.clientId,
    undefined,
    authentication(settings.clientSecret),
    { algorithm: "oauth2", execute: [openid.allowInsecureRequests] }
  )
  const session: Session = {
    discover: async () => {
      const { authorization_endpoint, token_endpoint } = config.serverMetadata()
      return { authorization: authorization_endpoint, token: token_endpoint }
    },
    authorize: async ({ pkce }) => {
      const state = openid.randomState()
      const verifier = openid.randomPKCECodeVerifier()
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: settings.redirectUri,
        scope: settings.scope,
        state,
        ...(pkce
          ? { code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" }
          : {})
      })
      return {
        url: url.href,
        exchange: async (back) => {
          const checks = { expectedState: state, ...(pkce ? { pkceCodeVerifier: verifier } : {}) }
          const tokens = await openid.authorizationCodeGrant(config, back, checks)
          return toTokens(tokens.access_token, tokens.refresh_token)
        }
      }
    },
    refresh: async ({ refresh }) => {
      const tokens = await openid.refreshTokenGrant(config, refresh)
      return toTokens(tokens.access_token, tokens.refresh_token)
    },
    introspect: async ({ access }) => {
      const { active, scope } = await openid.tokenIntrospection(config, access)
      return { active, scope }
    },
    revoke: ({ access }) => openid.tokenRevocation(config, access),
    readError: (thrown) => ({ code: stringAt(thrown, "error"), status: numberAt(thrown, "status") })
  }
  return session
}

const about = { library: "openid-client", surface: openid } as const

export const post: Client = { ...about, transport: "body", connect: connect(openid.ClientSecretPost) }
export const basic: Client = { ...about, transport: "Basic header", connect: connect(openid.ClientSecretBasic) }
