/** A server on `@node-oauth/oauth2-server` that refreshes, with the tables for which docs/moving.md has a recipe. */
import OAuth2Server, { type RefreshTokenModel } from "@node-oauth/oauth2-server"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { text } from "node:stream/consumers"
import type { Pool } from "pg"

export const sha256 = (value: string): string => createHash("sha256").update(value).digest("hex")

export const secretOf = (client: number | string): string => `secret of ${client}`

/** The texts of the first tokens of a grant. */
export const tokensOf = (client: number, user: number) => ({
  access: `access_${client}_${user}`,
  refresh: `refresh_${client}_${user}`
})

const grants = ["refresh_token"]
const scope = ["profile:read"]

/** A refresh deletes the row of its token, so that a token succeeds once. */
const modelOf = (database: Pool): RefreshTokenModel => ({
  generateAccessToken: async () => randomBytes(20).toString("hex"),
  generateRefreshToken: async () => randomBytes(20).toString("hex"),
  getClient: async (id, secret) => secret === secretOf(id) && { id, grants },
  getRefreshToken: async (refreshToken) => {
    const { rows: [found] } = await database.query("SELECT * FROM oauth_tokens WHERE refresh_token = $1", [
      refreshToken
    ])
    if (found === undefined) return false
    const { client_id, refresh_token_expires_on: refreshTokenExpiresAt, user_id } = found
    return {
      refreshToken,
      refreshTokenExpiresAt,
      scope,
      client: { id: String(client_id), grants },
      user: { id: user_id }
    }
  },
  revokeToken: async ({ refreshToken }) =>
    (await database.query("DELETE FROM oauth_tokens WHERE refresh_token = $1", [refreshToken])).rowCount === 1,
  saveToken: async (token, client, user) => {
    const { accessToken, accessTokenExpiresAt, refreshToken, refreshTokenExpiresAt } = token
    await database.query(
      `INSERT INTO oauth_tokens (access_token, access_token_expires_on, client_id, refresh_token, refresh_token_expires_on,
        user_id) VALUES ($1, $2, $3, $4, $5, $6)`,
      [
        accessToken,
        accessTokenExpiresAt?.toISOString(),
        client.id,
        refreshToken,
        refreshTokenExpiresAt?.toISOString(),
        user["id"]
      ]
    )
    return { ...token, client, user }
  },
  getAccessToken: async () => false
})

/** The table, and a grant of each user to each client with the tokens of `tokensOf`. */
export const createTable = async (
  database: Pool,
  clients: ReadonlyArray<number>,
  users: ReadonlyArray<number>
): Promise<void> => {
  await database.query(`CREATE TABLE oauth_tokens (id bigserial, access_token text, access_token_expires_on timestamp,
    client_id bigint, refresh_token text PRIMARY KEY, refresh_token_expires_on timestamp, user_id bigint)`)
  await database.query(
    `INSERT INTO oauth_tokens (access_token, access_token_expires_on, client_id, refresh_token, refresh_token_expires_on,
      user_id) SELECT 'access_' || c || '_' || u, now() + interval '1 hour', c, 'refresh_' || c || '_' || u,
      now() + interval '14 days', u FROM unnest($1::bigint[]) c, unnest($2::bigint[]) u`,
    [clients, users]
  )
}

/** Listens until the scope ends, and returns the address. */
export const listen = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(listener).listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      if (address === null || typeof address === "string") throw new Error("no port")
      return { server, url: `http://127.0.0.1:${address.port}` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  ).pipe(Effect.map(({ url }) => url))

/** Starts the server. */
export const make = (database: Pool) => {
  const server = new OAuth2Server({ model: modelOf(database), refreshTokenLifetime: 14 * 24 * 3600 })
  const token = async (body: string): Promise<readonly [status: number, body: object]> => {
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": String(body.length) }
    const form = Object.fromEntries(new URLSearchParams(body))
    const response = new OAuth2Server.Response()
    try {
      await server.token(new OAuth2Server.Request({ method: "POST", query: {}, headers, body: form }), response)
      return [200, response.body]
    } catch (error) {
      return error instanceof OAuth2Server.OAuthError
        ? [error.code, { error: error.name }]
        : [500, { error: String(error) }]
    }
  }
  return listen((request, response) => {
    text(request).then(token).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    })
  })
}
