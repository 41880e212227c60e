import * as oauth from "oauth4webapi"
import { type Client, numberAt, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

const insecure = { [oauth.allowInsecureRequests]: true }

const connect = (authentication: (secret: string) => oauth.ClientAuth) => async (settings: Settings) => {
  const issuer = new URL(settings.url)
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  const client: oauth.Client = { client_id: settings.clientId }
  const proof = authentication(settings.clientSecret)

  const session: Session = {
    discover: async () => ({ authorization: server.authorization_endpoint, token: server.token_endpoint }),
    authorize: async ({ pkce }) => {
      const state = oauth.generateRandomState()
      const verifier = oauth.generateRandomCodeVerifier()
      const url = new URL(server.authorization_endpoint ?? "")
      const parameters = {
        client_id: settings.clientId,
        redirect_uri: settings.redirectUri,
        response_type: "code",
        scope: settings.scope,
        state,
        ...(pkce
          ? { code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" }
          : {})
      }
      url.search = new URLSearchParams(parameters).toString()
      return {
        url: url.href,
        exchange: async (back) => {
          const answer = oauth.validateAuthResponse(server, client, back, state)
          const response = await oauth.authorizationCodeGrantRequest(
            server,
            client,
            proof,
            answer,
            settings.redirectUri,
            pkce ? verifier : oauth.nopkce,
            insecure
          )
          const tokens = await oauth.processAuthorizationCodeResponse(server, client, response)
          return toTokens(tokens.access_token, tokens.refresh_token)
        }
      }
    },
    refresh: async ({ refresh }) => {
      const response = await oauth.refreshTokenGrantRequest(server, client, proof, refresh, insecure)
      const tokens = await oauth.processRefreshTokenResponse(server, client, response)
      return toTokens(tokens.access_token, tokens.refresh_token)
    },
    introspect: async ({ access }) => {
      const response = await oauth.introspectionRequest(server, client, proof, access, insecure)
      const { active, scope } = await oauth.processIntrospectionResponse(server, client, response)
      return { active, scope }
    },
    revoke: async ({ access }) =>
      oauth.processRevocationResponse(await oauth.revocationRequest(server, client, proof, access, insecure)),
    readError: (thrown) => ({ code: stringAt(thrown, "error"), status: numberAt(thrown, "status") })
  }
  return session
}

const about = { library: "oauth4webapi", surface: oauth } as const

export const post: Client = { ...about, transport: "body", connect: connect(oauth.ClientSecretPost) }
export const basic: Client = { ...about, transport: "Basic header", connect: connect(oauth.ClientSecretBasic) }
