/**
 * Startlist inside another server: `Embedding.layer` with Effect, `Startlist.make` without Effect, and
 * `WebStartlist.make` without Node.
 */
export * as Embedding from "./Embedding.ts"
export * as Startlist from "./Startlist.ts"
export * as WebStartlist from "./WebStartlist.ts"
