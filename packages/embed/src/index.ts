/** Startlist inside of another server: `Embedding.layer` on Effect, `Startlist.make` without. */
export * as Embedding from "./Embedding.ts"
export * as Startlist from "./Startlist.ts"
