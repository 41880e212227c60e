import * as badgateway from "@badgateway/oauth2-client"
import { randomBytes } from "node:crypto"
import { type Client, numberAt, type Session, type Settings, stringAt, toTokens } from "./Client.ts"

const connect =
  (authenticationMethod: "client_secret_post" | "client_secret_basic") =>
  async ({ clientId, clientSecret, redirectUri, scope, url: server }: Settings) => {
    const client = new badgateway.OAuth2Client({ server, clientId, clientSecret, authenticationMethod })
    const wrap = ({ access, refresh }: { readonly access: string; readonly refresh: string }) => ({
      accessToken: access,
      refreshToken: refresh,
      expiresAt: null
    })

    const session: Session = {
      discover: async () => ({
        authorization: await client.getEndpoint("authorizationEndpoint"),
        token: await client.getEndpoint("tokenEndpoint")
      }),
      authorize: async ({ pkce }) => {
        const state = randomBytes(16).toString("base64url")
        const proof = pkce ? { codeVerifier: await badgateway.generateCodeVerifier() } : {}
        const begin = { redirectUri, state, scope: scope.split(" "), ...proof }
        return {
          url: await client.authorizationCode.getAuthorizeUri(begin),
          exchange: async (back) => {
            const tokens = await client.authorizationCode.getTokenFromCodeRedirect(back, {
              redirectUri,
              state,
              ...proof
            })
            return toTokens(tokens.accessToken, tokens.refreshToken)
          }
        }
      },
      refresh: async (tokens) => {
        const { accessToken, refreshToken } = await client.refreshToken(wrap(tokens))
        return toTokens(accessToken, refreshToken)
      },
      introspect: async (tokens) => {
        const { active, scope } = await client.introspect(wrap(tokens))
        return { active, scope }
      },
      revoke: (tokens) => client.revoke(wrap(tokens)),
      readError: (thrown) => ({ code: stringAt(thrown, "oauth2Code"), status: numberAt(thrown, "httpCode") })
    }
    return session
  }

const about = { library: "@badgateway/oauth2-client", surface: badgateway } as const

export const post: Client = { ...about, transport: "body", connect: connect("client_secret_post") }
export const basic: Client = { ...about, transport: "Basic header", connect: connect("client_secret_basic") }
