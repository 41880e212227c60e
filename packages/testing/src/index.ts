/**
 * Laws, programs and simulation for Startlist's stores and for whatever is built on them.
 */
export * as Agreement from "./Agreement.ts"
export * as Arbitraries from "./Arbitraries.ts"
export * as CallbackLaws from "./CallbackLaws.ts"
export * as Command from "./Command.ts"
export * as Faults from "./Faults.ts"
export * as Happening from "./Happening.ts"
export * as Interception from "./Interception.ts"
export * as Law from "./Law.ts"
export * as Model from "./Model.ts"
export * as Program from "./Program.ts"
export * as ProgramLaws from "./ProgramLaws.ts"
export * as ScriptedCallbacks from "./ScriptedCallbacks.ts"
export * as Simulation from "./Simulation.ts"
export * as StoreLaws from "./StoreLaws.ts"
export * as TestSecrets from "./TestSecrets.ts"
export * as VirtualTime from "./VirtualTime.ts"
