/**
 * The HTTP side of Startlist: protocol endpoints as functions of plain requests, and bindings to servers.
 *
 * Each module is a namespace of its own: `Protocol.routes`, `NodeHttp.listener`.
 */
export * as Authorization from "./Authorization.ts"
export * as Compression from "./Compression.ts"
export * as EffectHttp from "./EffectHttp.ts"
export * as Embedding from "./Embedding.ts"
export * as FailureLimit from "./FailureLimit.ts"
export * as Guard from "./Guard.ts"
export * as Http from "./Http.ts"
export * as HttpConfig from "./HttpConfig.ts"
export * as ImportedSecrets from "./ImportedSecrets.ts"
export * as Mount from "./Mount.ts"
export * as NodeGarbage from "./NodeGarbage.ts"
export * as NodeHttp from "./NodeHttp.ts"
export * as NodeSecrets from "./NodeSecrets.ts"
export * as Parameters from "./Parameters.ts"
export * as Protocol from "./Protocol.ts"
export * as Refusal from "./Refusal.ts"
export * as Router from "./Router.ts"
export * as WebHttp from "./WebHttp.ts"
export * as WebSecrets from "./WebSecrets.ts"
