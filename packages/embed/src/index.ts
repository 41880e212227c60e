/** Startlist inside a server without Effect: `Startlist.make`, and `WebStartlist.make` without Node. */
export * as Startlist from "./Startlist.ts"
export * as WebStartlist from "./WebStartlist.ts"
