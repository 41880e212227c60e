/** `oidc-provider` on `node:http`. Argument: the database, or none: in memory. */
import { generateKeyPairSync } from "node:crypto"
import Provider from "oidc-provider"
import * as Pg from "pg"
import { athleteBody, lifetimes, scope } from "../Protocol.ts"
import * as Listening from "./Listening.ts"
import * as OidcAdapters from "./OidcAdapters.ts"

const [, , url] = process.argv
const { athletes, clientId, clientSecret } = Listening.makeFixture()
const pool = url === undefined ? undefined : new Pg.Pool({ connectionString: url, max: 10 })
if (pool) {
  await pool.query(OidcAdapters.schema)
  await pool.query("CREATE TABLE users (id bigint PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL)")
  await pool.query("INSERT INTO users SELECT i, 'Ada', 'Runner' FROM generate_series(1, $1::int) i", [athletes.length])
}

const bodies = new Map(athletes.map(({ id }) => [id, athleteBody(id)]))

/** The response of the resource for a user. */
const athlete = async (id: number): Promise<string | undefined> => {
  if (!pool) return bodies.get(id)
  const text = "SELECT first_name, last_name FROM users WHERE id = $1"
  const { rows } = await pool.query<{ readonly first_name: string; readonly last_name: string }>({
    name: "user",
    text,
    values: [id]
  })
  return rows[0] && JSON.stringify({ id, ...rows[0] })
}

const provider = new Provider("http://127.0.0.1", {
  adapter: pool ? OidcAdapters.inPostgres(pool) : OidcAdapters.inMemory,
  clients: [{
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ["authorization_code", "refresh_token"],
    redirect_uris: ["https://client.example.test/callback"],
    token_endpoint_auth_method: "client_secret_post"
  }],
  cookies: { keys: [Listening.makeToken()] },
  features: { devInteractions: { enabled: false } },
  // Nothing is signed here, but without its own keys the library logs a warning.
  jwks: {
    keys: [{ ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }), kid: "1" }]
  },
  formats: { bitsOfOpaqueRandomness: 256 },
  findAccount: async (_context, sub) => {
    const found = await athlete(Number(sub))
    return found === undefined ? undefined : { accountId: sub, claims: async () => ({ sub }) }
  },
  rotateRefreshToken: true,
  routes: { token: "/oauth/token" },
  scopes: ["openid", "offline_access", scope],
  ttl: { AccessToken: lifetimes.access, Grant: lifetimes.refresh, RefreshToken: lifetimes.refresh }
})

/** The first tokens, created like those of the library. */
const client = await provider.Client.find(clientId)
if (client === undefined) throw new Error("the client is missing")
const issued = await Promise.all(athletes.map(async ({ id }) => {
  const accountId = String(id)
  const grant = new provider.Grant({ accountId, clientId })
  grant.addOIDCScope(`offline_access ${scope}`)
  const grantId = await grant.save()
  const common = { accountId, client, grantId, gty: "authorization_code", scope: `offline_access ${scope}` }
  return {
    id,
    accessToken: await new provider.AccessToken({ ...common, claims: {} }).save(),
    refreshToken: await new provider.RefreshToken({ ...common, claims: {} }).save()
  }
}))

/** A resource of the server itself: checks the token, its time and its scope. */
const authenticate = async (bearer: string): Promise<string | undefined> => {
  const token = await provider.AccessToken.find(bearer)
  return token?.isValid && token.scopes.has(scope) ? athlete(Number(token.accountId)) : undefined
}

const callback = provider.callback()

Listening.listen((request, response) => {
  if (request.method !== "GET") {
    void callback(request, response)
    return
  }
  authenticate(Listening.bearerOf(request) ?? "").then(
    (body) => Listening.sendJson(response, body ? 200 : 401, body ?? "{}"),
    (error: unknown) => {
      console.error(error)
      Listening.sendJson(response, 500, "{}")
    }
  )
}, { clientId, clientSecret, athletes: issued })
