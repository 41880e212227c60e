import { SqlClient, type SqlError } from "@effect/sql"
import { Registration, Registrations, type Store } from "@startlist/core"
import type { Migrations } from "@startlist/postgres"
import { Data, Effect } from "effect"

/** The application's own table, which is migrated with those of Startlist. */
export const migrations: Migrations.MigrationSet = {
  table: "documents_migrations",
  migrations: {
    "0001_documents": {
      run: Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql`CREATE TABLE documents (
          registration_id bigint NOT NULL,
          kind text NOT NULL,
          validated_by text NOT NULL,
          PRIMARY KEY (registration_id, kind)
        )`)
    }
  }
}

/** The document is already validated. */
export class AlreadyValidated extends Data.TaggedError("AlreadyValidated")<{ readonly kind: string }> {}

/**
 * Validates a document: our row, the registration and its events in one transaction.
 *
 * The events are queued first here, to show that the order does not matter: if our row cannot be inserted, they are gone.
 */
export const validate = (
  registrationId: Registration.RegistrationId,
  kind: string,
  by: string
): Effect.Effect<
  Registration.Registration,
  AlreadyValidated | Registration.RegistrationNotFound | Store.StoreError | SqlError.SqlError,
  SqlClient.SqlClient | Registrations.Registrations
> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const registrations = yield* Registrations.Registrations
    return yield* sql.withTransaction(Effect.gen(function*() {
      const patch = { document_type: kind, document_status: "validated", comment: `validated by ${by}` }
      const changed = yield* registrations.change(registrationId, patch)
      const inserted = yield* sql`
        INSERT INTO documents (registration_id, kind, validated_by) VALUES (${registrationId}, ${kind}, ${by})
        ON CONFLICT DO NOTHING RETURNING kind`
      if (inserted.length === 0) return yield* new AlreadyValidated({ kind })
      return changed
    }))
  })
