/** The stores of `NodeOauth`: maps, or three tables with `pg`, as its users write them. */
import * as Pg from "pg"
import { athleteBody, lifetimes, type Ready, scope } from "../Protocol.ts"
import { fingerprint } from "./Listening.ts"
import type { StoredToken, TokenStore } from "./NodeOauthModel.ts"

/** A store, and the response for an athlete. */
export interface Stores {
  readonly tokens: TokenStore
  readonly athlete: (id: number) => Promise<string | undefined>
}

type Fixture = Omit<Ready, "port">

const stored = (fixture: Fixture, userId: number, seconds: number): StoredToken => ({
  clientId: fixture.clientId,
  userId,
  scope,
  expiresAt: new Date(Date.now() + seconds * 1000)
})

const fill = async (tokens: TokenStore, fixture: Fixture): Promise<void> => {
  for (const { accessToken, id, refreshToken } of fixture.athletes) {
    await tokens.save({
      access: [fingerprint(accessToken), stored(fixture, id, lifetimes.access)],
      refresh: [fingerprint(refreshToken), stored(fixture, id, lifetimes.refresh)]
    })
  }
}

export const inMemory = async (fixture: Fixture): Promise<Stores> => {
  const clients = new Map([[fixture.clientId, fingerprint(fixture.clientSecret)]])
  const athletes = new Map(fixture.athletes.map(({ id }) => [id, athleteBody(id)]))
  const refresh = new Map<string, StoredToken>()
  const access = new Map<string, StoredToken>()
  const tokens: TokenStore = {
    findClientSecret: async (id) => clients.get(id),
    findRefresh: async (hash) => refresh.get(hash),
    findAccess: async (hash) => access.get(hash),
    removeRefresh: async (hash) => refresh.delete(hash),
    save: async (issued) => {
      access.set(...issued.access)
      refresh.set(...issued.refresh)
    }
  }
  await fill(tokens, fixture)
  return { tokens, athlete: async (id) => athletes.get(id) }
}

const schema = `
  CREATE TABLE clients (id text PRIMARY KEY, secret text NOT NULL);
  CREATE TABLE users (id bigint PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL);
  CREATE TABLE access_tokens
    (hash text PRIMARY KEY, client_id text NOT NULL, user_id bigint NOT NULL, scope text NOT NULL, expires_at timestamptz NOT NULL);
  CREATE TABLE refresh_tokens
    (hash text PRIMARY KEY, client_id text NOT NULL, user_id bigint NOT NULL, scope text NOT NULL, expires_at timestamptz NOT NULL);
`

interface TokenRow {
  readonly client_id: string
  readonly user_id: string
  readonly scope: string
  readonly expires_at: Date
}

export const inPostgres = async (fixture: Fixture, url: string): Promise<Stores> => {
  const pool = new Pg.Pool({ connectionString: url, max: 10 })
  await pool.query(schema)
  await pool.query("INSERT INTO clients VALUES ($1, $2)", [fixture.clientId, fingerprint(fixture.clientSecret)])
  await pool.query("INSERT INTO users SELECT i, 'Ada', 'Runner' FROM generate_series(1, $1::int) i", [
    fixture.athletes.length
  ])
  const find = async (table: string, hash: string): Promise<StoredToken | undefined> => {
    const { rows: [row] } = await pool.query<TokenRow>({
      name: table,
      text: `SELECT client_id, user_id, scope, expires_at FROM ${table} WHERE hash = $1`,
      values: [hash]
    })
    return row && { clientId: row.client_id, userId: Number(row.user_id), scope: row.scope, expiresAt: row.expires_at }
  }
  const values = (
    hash: string,
    { clientId, expiresAt, scope, userId }: StoredToken
  ) => [hash, clientId, userId, scope, expiresAt]
  const tokens: TokenStore = {
    findClientSecret: async (id) => {
      const text = "SELECT secret FROM clients WHERE id = $1"
      const { rows } = await pool.query<{ readonly secret: string }>({ name: "client", text, values: [id] })
      return rows[0]?.secret
    },
    findRefresh: (hash) => find("refresh_tokens", hash),
    findAccess: (hash) => find("access_tokens", hash),
    removeRefresh: async (hash) => {
      const text = "DELETE FROM refresh_tokens WHERE hash = $1"
      return (await pool.query({ name: "remove", text, values: [hash] })).rowCount === 1
    },
    save: async ({ access, refresh }) => {
      await pool.query({
        name: "save",
        text: `WITH access AS (INSERT INTO access_tokens VALUES ($1, $2, $3, $4, $5))
          INSERT INTO refresh_tokens VALUES ($6, $7, $8, $9, $10)`,
        values: [...values(...access), ...values(...refresh)]
      })
    }
  }
  await fill(tokens, fixture)
  return {
    tokens,
    athlete: async (id) => {
      const text = "SELECT first_name, last_name FROM users WHERE id = $1"
      const { rows } = await pool.query<{ readonly first_name: string; readonly last_name: string }>({
        name: "user",
        text,
        values: [id]
      })
      return rows[0] && JSON.stringify({ id, ...rows[0] })
    }
  }
}
