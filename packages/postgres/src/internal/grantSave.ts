/** The statement that saves grants: each row is judged on its own version, and takes its children with it. */
import type { Change } from "@startlist/core/GrantStore"
import * as Option from "effect/Option"
import type { Statement } from "../Database.ts"
import { outbox, outgoingOf } from "./outbox.ts"
import { millisOf, millisOrNull } from "./rows.ts"

/** Which branches a batch needs. A statement has only these: an empty branch costs too. */
interface Parts {
  readonly first: boolean
  readonly codes: boolean
  readonly redeemed: boolean
  readonly issued: boolean
  readonly outgoing: boolean
}

/** A change as one row of the input. */
export const toInput = ({ code, grant, issued, outgoing, redeemed }: Change) => ({
  application_id: grant.applicationId,
  user_id: grant.userId,
  version: grant.version,
  active: grant.status === "active",
  role: grant.role,
  scope: grant.scope,
  epoch: grant.epoch,
  generation: grant.generation,
  granted_at: millisOf(grant.grantedAt),
  issued_at: millisOrNull(grant.issuedAt),
  ...Option.isSome(code) && {
    code: code.value.hash,
    code_epoch: code.value.epoch,
    redirect_uri: code.value.redirectUri,
    code_scope: code.value.scope,
    state: Option.getOrNull(code.value.state),
    challenge: Option.getOrNull(code.value.challenge),
    code_expires: millisOf(code.value.expiresAt),
    code_redeemed: code.value.redeemed
  },
  ...Option.isSome(redeemed) && { redeemed: redeemed.value },
  ...Option.isSome(issued) && {
    access: issued.value.access.hash,
    access_epoch: issued.value.access.epoch,
    access_scope: issued.value.access.scope,
    access_created: millisOf(issued.value.access.createdAt),
    access_expires: millisOf(issued.value.access.expiresAt),
    refresh: issued.value.refresh.hash,
    refresh_epoch: issued.value.refresh.epoch,
    refresh_generation: issued.value.refresh.generation,
    refresh_expires: millisOf(issued.value.refresh.expiresAt)
  },
  ...outgoing.length > 0 && { outgoing: outgoingOf(outgoing) }
})

export const partsOf = (changes: ReadonlyArray<Change>): Parts => ({
  first: changes.some(({ grant }) => grant.version === 1),
  codes: changes.some(({ code }) => Option.isSome(code)),
  redeemed: changes.some(({ redeemed }) => Option.isSome(redeemed)),
  issued: changes.some(({ issued }) => Option.isSome(issued)),
  outgoing: changes.some(({ outgoing }) => outgoing.length > 0)
})

/**
 * The input is one JSON array, sorted by key, so that rows are locked in one order and batches cannot wait for each
 * other in a circle. Answers the keys that were saved, each with the number of deliveries that the statement queued.
 */
export const saveStatement = (p: string, parts: Parts): Statement => {
  const { codes, first, issued, outgoing, redeemed } = parts
  const key = "application_id, user_id"
  const ctes = [
    `input AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS i(
    application_id bigint, user_id bigint, version integer, active boolean, role text, scope json, epoch integer,
    generation integer, granted_at bigint, issued_at bigint${
      codes ?
        `,
    code text, code_epoch integer, redirect_uri text, code_scope json, state text, challenge text,
    code_expires bigint, code_redeemed boolean` :
        ""
    }${
      redeemed ?
        `,
    redeemed text` :
        ""
    }${
      issued ?
        `,
    access text, access_epoch integer, access_scope json, access_created bigint, access_expires bigint,
    refresh text, refresh_epoch integer, refresh_generation integer, refresh_expires bigint` :
        ""
    }${
      outgoing ?
        `,
    outgoing json` :
        ""
    }
  )
)`,
    `updated AS (
  UPDATE ${p}grants g SET version = i.version, active = i.active, role = i.role, scope = i.scope, epoch = i.epoch,
    generation = i.generation, granted_at = i.granted_at, issued_at = i.issued_at
  FROM input i
  WHERE i.version > 1 AND g.application_id = i.application_id AND g.user_id = i.user_id AND g.version = i.version - 1
  RETURNING g.application_id, g.user_id
)`,
    first && `inserted AS (
  INSERT INTO ${p}grants (${key}, version, active, role, scope, epoch, generation, granted_at, issued_at)
  SELECT ${key}, version, active, role, scope, epoch, generation, granted_at, issued_at FROM input WHERE version = 1
  ON CONFLICT (${key}) DO NOTHING RETURNING ${key}
)`,
    `saved AS MATERIALIZED (
  SELECT i.* FROM input i
  JOIN (SELECT ${key} FROM updated${first ? ` UNION ALL SELECT ${key} FROM inserted` : ""}) s USING (${key})
)`,
    codes && `new_codes AS (
  INSERT INTO ${p}codes (${key}, hash, epoch, redirect_uri, scope, state, challenge, expires_at, redeemed)
  SELECT ${key}, code, code_epoch, redirect_uri, code_scope, state, challenge, code_expires, code_redeemed
  FROM saved WHERE code IS NOT NULL
)`,
    redeemed && `used AS (
  UPDATE ${p}codes c SET redeemed = true FROM saved s
  WHERE c.hash = s.redeemed AND c.application_id = s.application_id AND c.user_id = s.user_id
)`,
    issued && `new_access AS (
  INSERT INTO ${p}access_tokens (${key}, hash, epoch, scope, created_at, expires_at)
  SELECT ${key}, access, access_epoch, access_scope, access_created, access_expires FROM saved WHERE access IS NOT NULL
),
new_refresh AS (
  INSERT INTO ${p}refresh_tokens (${key}, hash, epoch, generation, expires_at)
  SELECT ${key}, refresh, refresh_epoch, refresh_generation, refresh_expires FROM saved WHERE refresh IS NOT NULL
)`,
    outgoing && outbox(p, "saved")
  ]
  const letters = Object.entries(parts).flatMap(([part, isNeeded]) => isNeeded ? [part[0]] : [])
  return {
    name: `${p}grant_save_${letters.join("")}`,
    text: `WITH ${ctes.filter(Boolean).join(",\n")}
SELECT ${key}, ${outgoing ? "(SELECT count(*) FROM told)::integer" : "0"} AS told FROM saved`
  }
}
