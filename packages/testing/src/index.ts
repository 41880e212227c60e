/**
 * Laws, programs and simulation for Startlist's stores and for whatever is built on them.
 */
export * as Arbitraries from "./Arbitraries.ts"
export * as Law from "./Law.ts"
export * as StoreLaws from "./StoreLaws.ts"
