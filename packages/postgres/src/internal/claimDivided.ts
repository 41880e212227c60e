/** The statements that claim deliveries from divided tables, in one transaction. */
import type { Statement } from "../Database.ts"
import { claimText, free, isDue } from "./claim.ts"

/** Rows can be locked only in the partition of one application, so a claim goes from application to application. */
export interface DividedClaimStatements {
  /**
   * The deliveries to claim, by application. Parameters: now, limit, per subscription, allowances (JSON object by
   * subscription), the instant after which times have passed. It reads all partitions.
   */
  readonly overview: Statement
  /**
   * Claims chosen deliveries of an application. Parameters: now, end of the lease, token, application, identifiers (JSON
   * array), whether the commit need not wait for the disk, the instant after which times have passed. The answer is that of `ClaimStatements`.
   */
  readonly ofApplication: Statement
}

export const dividedClaimStatements = (p: string): DividedClaimStatements => ({
  overview: {
    name: `${p}delivery_claim_overview`,
    text: `WITH allowances AS MATERIALIZED (
    SELECT key::bigint AS subscription_id, value::integer AS allowance FROM json_each_text($4::json)
  ),
  earliest AS MATERIALIZED (
    SELECT d.id, d.application_id, d.subscription_id, d.due_at, d.place
    FROM ${p}subscriptions s JOIN ${p}applications a ON a.id = s.application_id CROSS JOIN LATERAL (
      SELECT d.id, d.application_id, d.subscription_id, d.due_at, row_number() OVER (ORDER BY d.due_at, d.id) AS place
      FROM ${p}deliveries d
      WHERE d.application_id = s.application_id AND d.subscription_id = s.id AND d.state = 'p' AND d.head
        AND ${isDue("$5")} AND ${free("$5")} AND NOT EXISTS (
          SELECT FROM ${p}deliveries b
          WHERE b.application_id = d.application_id AND b.subscription_id = d.subscription_id
            AND b.object_type = d.object_type AND b.object_id = d.object_id AND b.id < d.id AND b.state = 'p'
        )
      ORDER BY d.due_at, d.id LIMIT $2::integer
    ) d
    WHERE NOT s.paused AND a.state <> 's'
  ),
  candidates AS MATERIALIZED (
    SELECT e.* FROM earliest e LEFT JOIN allowances a USING (subscription_id)
    WHERE e.place <= coalesce(a.allowance, $3::integer)
    ORDER BY e.due_at, e.id LIMIT $2::integer
  )
  SELECT application_id, json_agg(id) AS ids FROM candidates GROUP BY application_id ORDER BY min(due_at), min(id)`
  },
  ofApplication: {
    name: `${p}delivery_claim_application`,
    text: `WITH candidates AS MATERIALIZED (SELECT value::bigint AS id FROM json_array_elements_text($5::json)),
  ${claimText(p, "$6", "$7", "$4")}, true AS decided, false AS late`
  }
})
