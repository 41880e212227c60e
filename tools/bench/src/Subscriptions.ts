/** Inserts applications with subscriptions, and athletes with registrations who have granted all of them, in bulk. */
import type * as Database from "./Database.ts"
import * as Grants from "./Grants.ts"
import { scope } from "./Protocol.ts"

/** A URL at which nothing listens. */
const callbackUrl = "http://127.0.0.1:9/callback"

const noUpdates = JSON.stringify({
  platform_id: "",
  registration_status: "",
  document_type: "",
  document_status: "",
  reasons: [],
  comment: ""
})

/** Numbers of ended and pending deliveries, spread over all subscriptions. */
export interface Queue {
  readonly ended: number
  readonly pending: number
}

/** Contents of a service that has run for some time. */
export const usual: Queue = { ended: 20_000, pending: 0 }

/** Applications and subscriptions 1 to `subscriptions`; athletes and registrations 1 to `athletes`; deliveries. */
export const fill =
  (athletes: number, subscriptions: number, { ended, pending }: Queue) =>
  async ({ query, settle, url }: Database.Fresh): Promise<void> => {
    await Grants.migrate(url)
    const now = Date.now()
    await query(`INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
    SELECT 'athlete', 'athlete' || i || '@example.test', 'athlete' || i || '@example.test', 'Ada', 'Runner'
    FROM generate_series(1, ${athletes}) AS i`)
    await query(`INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    SELECT 1, 1, 'Benchmark', '[]', false, '[]', ${now}, 1, '[]' FROM generate_series(1, ${subscriptions})`)
    await query(`INSERT INTO startlist_subscriptions
      (application_id, version, callback_url, created_at, updated_at)
    SELECT i, 1, '${callbackUrl}', ${now}, ${now} FROM generate_series(1, ${subscriptions}) AS i`)
    await query(`INSERT INTO startlist_grants
      (application_id, user_id, active, consent, access, generation, version)
    SELECT a, u, true, '{"role":"athlete","scope":["${scope}"],"epoch":1,"at":${now}}', '', 0, 1
    FROM generate_series(1, ${athletes}) AS u, generate_series(1, ${subscriptions}) AS a`)
    await query(`INSERT INTO startlist_registrations (version, athlete_id, updates)
    SELECT 1, i, '${noUpdates}' FROM generate_series(1, ${athletes}) AS i`)
    const deliveries = (from: number, to: number, state: string, rest: string) =>
      query(`INSERT INTO startlist_deliveries
          (application_id, subscription_id, event_id, aspect_type, object_type, object_id, updates, event_time, due_at, head,
            state, ended_at, attempts)
        SELECT 1 + i % ${subscriptions}, 1 + i % ${subscriptions}, 'evt_' || 1 + i / ${subscriptions}, 'u', 'r',
          1 + i / ${subscriptions}, '["","","","",[],""]', ${now}, ${
        now - 1000
      }, true, '${state}', ${rest} FROM generate_series(${from}, ${to - 1}) AS i`)
    await deliveries(0, ended, "d", `${now}, '[[${now},12,"delivered",200,""]]'`)
    await deliveries(ended, ended + pending, "p", "NULL, NULL")
    await settle()
  }
