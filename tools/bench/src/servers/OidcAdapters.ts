/** The stores of `OidcProvider`: maps, or one table with `pg`, like the adapters in its documentation. */
import type { Adapter, AdapterFactory, AdapterPayload } from "oidc-provider"
import * as Pg from "pg"
import { fingerprint } from "./Listening.ts"

const unused = async () => undefined

/** Tokens are stored by their hashes, so the payload's own copy is omitted. */
const withoutToken = ({ jti: _, ...payload }: AdapterPayload): AdapterPayload => payload

export const inMemory: AdapterFactory = (): Adapter => {
  const payloads = new Map<string, AdapterPayload>()
  return {
    upsert: async (id, payload) => {
      payloads.set(fingerprint(id), withoutToken(payload))
    },
    find: async (id) => {
      const payload = payloads.get(fingerprint(id))
      return payload && { ...payload, jti: id }
    },
    consume: async (id) => {
      const payload = payloads.get(fingerprint(id))
      if (payload) payload.consumed = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => {
      payloads.delete(fingerprint(id))
    },
    revokeByGrantId: async (grantId) => {
      for (const [hash, payload] of payloads) if (payload.grantId === grantId) payloads.delete(hash)
    },
    findByUid: unused,
    findByUserCode: unused
  }
}

export const schema = `
  CREATE TABLE payloads (
    model text NOT NULL, hash text NOT NULL, payload jsonb NOT NULL, grant_id text, expires_at timestamptz,
    consumed_at timestamptz, PRIMARY KEY (hash, model)
  );
  CREATE INDEX payloads_grant ON payloads (grant_id);
`

interface Row {
  readonly payload: AdapterPayload
  readonly consumed_at: Date | null
}

export const inPostgres = (pool: Pg.Pool): AdapterFactory => (model): Adapter => ({
  upsert: async (id, payload, expiresIn) => {
    await pool.query({
      name: "upsert",
      text: `INSERT INTO payloads (model, hash, payload, grant_id, expires_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (hash, model) DO UPDATE SET payload = $3, grant_id = $4, expires_at = $5`,
      values: [
        model,
        fingerprint(id),
        JSON.stringify(withoutToken(payload)),
        payload.grantId ?? null,
        expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1000)
      ]
    })
  },
  find: async (id) => {
    const { rows: [row] } = await pool.query<Row>({
      name: "find",
      text: "SELECT payload, consumed_at FROM payloads WHERE hash = $2 AND model = $1",
      values: [model, fingerprint(id)]
    })
    return row && { ...row.payload, jti: id, ...(row.consumed_at && { consumed: true }) }
  },
  consume: async (id) => {
    const text = "UPDATE payloads SET consumed_at = now() WHERE hash = $2 AND model = $1"
    await pool.query({ name: "consume", text, values: [model, fingerprint(id)] })
  },
  destroy: async (id) => {
    const text = "DELETE FROM payloads WHERE hash = $2 AND model = $1"
    await pool.query({ name: "destroy", text, values: [model, fingerprint(id)] })
  },
  revokeByGrantId: async (grantId) => {
    await pool.query({ name: "revoke", text: "DELETE FROM payloads WHERE grant_id = $1", values: [grantId] })
  },
  findByUid: unused,
  findByUserCode: unused
})
