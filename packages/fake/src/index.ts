/** A Startlist service in memory, for the tests of applications. */
export * as Fake from "./Fake.ts"
