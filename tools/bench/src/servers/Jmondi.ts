/** `@jmondi/oauth2-server` on `node:http`, in memory. Its access tokens are JWTs; its refresh tokens may be opaque. */
import {
  AuthorizationServer,
  DateInterval,
  JwtService,
  type OAuthClient,
  OAuthException,
  OAuthRequest,
  type OAuthToken
} from "@jmondi/oauth2-server"
import { athleteBody, lifetimes, scope } from "../Protocol.ts"
import * as Listening from "./Listening.ts"

const { athletes, clientId, clientSecret } = Listening.makeFixture()
const bodies = new Map(athletes.map(({ id }) => [id, athleteBody(id)]))
const jwt = new JwtService(Listening.makeToken())
const scopes = [{ name: scope }]
const secret = Listening.fingerprint(clientSecret)
const client: OAuthClient = {
  id: clientId,
  name: "Benchmark",
  secret,
  redirectUris: [],
  allowedGrants: ["refresh_token"],
  scopes
}

/** Tokens by the hash of the refresh token, and of the identifier of the access token. */
const byRefresh = new Map<string, OAuthToken>()
const byAccess = new Map<string, OAuthToken>()

const after = (seconds: number): Date => new Date(Date.now() + seconds * 1000)

const keep = (token: OAuthToken): void => {
  byAccess.set(Listening.fingerprint(token.accessToken), token)
  if (token.refreshToken) byRefresh.set(Listening.fingerprint(token.refreshToken), token)
}

const server = new AuthorizationServer(
  {
    getByIdentifier: async (id) => {
      if (id !== clientId) throw OAuthException.invalidClient()
      return client
    },
    isClientValid: async (grant, { allowedGrants }, presented) =>
      allowedGrants.includes(grant) && Listening.fingerprint(presented ?? "") === secret
  },
  {
    issueToken: async (client, scopes, user) => ({
      accessToken: Listening.makeToken(),
      accessTokenExpiresAt: after(lifetimes.access),
      client,
      scopes,
      user: user ?? null
    }),
    issueRefreshToken: async (token) => {
      token.refreshToken = Listening.makeToken()
      token.refreshTokenExpiresAt = after(lifetimes.refresh)
      keep(token)
      return token
    },
    persist: async (token) => keep(token),
    revoke: async ({ refreshToken }) => {
      byRefresh.delete(Listening.fingerprint(refreshToken ?? ""))
    },
    isRefreshTokenRevoked: async ({ refreshToken }) => !byRefresh.has(Listening.fingerprint(refreshToken ?? "")),
    getByRefreshToken: async (refreshToken) => {
      const token = byRefresh.get(Listening.fingerprint(refreshToken))
      if (token === undefined) throw OAuthException.invalidParameter("refresh_token")
      return token
    }
  },
  {
    getAllByIdentifiers: async (names) => scopes.filter(({ name }) => names.includes(name)),
    finalize: async (scopes) => scopes
  },
  jwt,
  { requiresPKCE: true, useOpaqueRefreshTokens: true }
)
server.enableGrantTypes(["refresh_token", new DateInterval(`${lifetimes.access}s`)])

const refresh = async (form: Record<string, string>, headers: Record<string, unknown>) => {
  try {
    const { body } = await server.respondToAccessTokenRequest(new OAuthRequest({ body: form, headers }))
    return { status: 200, body }
  } catch (error) {
    if (error instanceof OAuthException) return { status: error.status, body: { error: error.errorType } }
    throw error
  }
}

/** Checks the signature, the time, the scope, and whether the token is still stored. */
const authenticate = async (bearer: string): Promise<string | undefined> => {
  const claims = await jwt.verify(bearer).catch(() => undefined)
  if (claims === undefined || !String(claims["scope"]).split(" ").includes(scope)) return undefined
  const token = byAccess.get(Listening.fingerprint(String(claims["jti"])))
  return token && bodies.get(Number(token.user?.id))
}

/** The first tokens, created like those of the library. */
const issued = await Promise.all(athletes.map(async ({ accessToken, id, refreshToken }) => {
  keep({
    accessToken,
    accessTokenExpiresAt: after(lifetimes.access),
    refreshToken,
    refreshTokenExpiresAt: after(lifetimes.refresh),
    client,
    scopes,
    user: { id }
  })
  const now = Math.floor(Date.now() / 1000)
  const claims = { cid: clientId, scope, sub: String(id), iat: now, nbf: now, exp: now + lifetimes.access }
  return { id, refreshToken, accessToken: await jwt.sign({ ...claims, jti: accessToken }) }
}))

Listening.listen((request, response) => {
  const answer = request.method === "GET"
    ? authenticate(Listening.bearerOf(request) ?? "").then((body) => ({ status: body ? 200 : 401, text: body ?? "{}" }))
    : Listening.readForm(request)
      .then((form) => refresh(form, request.headers))
      .then(({ body, status }) => ({ status, text: JSON.stringify(body) }))
  answer.then(({ status, text }) => Listening.sendJson(response, status, text), (error: unknown) => {
    console.error(error)
    Listening.sendJson(response, 500, "{}")
  })
}, { clientId, clientSecret, athletes: issued })
