/**
 * Startlist's stores on SQL, migrations and the embedded database.
 */
export * as Citus from "./Citus.ts"
export * as Database from "./Database.ts"
export * as Embedded from "./Embedded.ts"
export * as Migrations from "./Migrations.ts"
export * as Move from "./Move.ts"
export * as Postgres from "./Postgres.ts"
export * as Queue from "./Queue.ts"
export * as Seal from "./Seal.ts"
export * as SealedSecrets from "./SealedSecrets.ts"
export * as ServerUrl from "./ServerUrl.ts"
export * as Users from "./Users.ts"
