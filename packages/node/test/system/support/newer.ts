/** A newer version: the present program with more migrations. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect } from "effect"
import { Migrations } from "@startlist/postgres"

const statement = (text: string) => Effect.asVoid(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)))

const table = (name: string): Migrations.Migration => ({
  changes: `startlist_${name}`,
  run: statement(`ALTER TABLE startlist_${name} ADD COLUMN extra text NOT NULL DEFAULT 'x'`)
})

/** Migrations of the newer program, which change tables in another order than requests use them. */
export const newer: Migrations.MigrationSet = {
  ...Migrations.startlist(),
  migrations: {
    ...Migrations.startlist().migrations,
    "9001_deliveries": table("deliveries"),
    "9002_subscriptions": table("subscriptions"),
    "9003_grants": table("grants"),
    "9004_registrations": table("registrations"),
    "9005_index": Migrations.index("startlist_deliveries_extra", "startlist_deliveries (extra, id)"),
    "9006_function": {
      run: statement(`CREATE FUNCTION startlist_nothing() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RETURN NEW; END $$`)
    },
    "9007_trigger": {
      changes: "startlist_grants",
      run: statement(`CREATE TRIGGER startlist_nothing BEFORE UPDATE ON startlist_grants
        FOR EACH ROW EXECUTE FUNCTION startlist_nothing()`)
    }
  }
}
