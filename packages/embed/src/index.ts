/**
 * Startlist inside of another server: `Embedding.layer` on Effect, `Startlist.make` without, and `WebStartlist.make`
 * where there is no Node.
 */
export * as Embedding from "./Embedding.ts"
export * as Startlist from "./Startlist.ts"
export * as WebStartlist from "./WebStartlist.ts"
