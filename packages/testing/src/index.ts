/**
 * Laws for stores and callbacks, and test doubles for applications.
 */
export * as ApplicationReceiver from "./ApplicationReceiver.ts"
export * as Arbitraries from "./Arbitraries.ts"
export * as CallbackLaws from "./CallbackLaws.ts"
export * as Faults from "./Faults.ts"
export * as ImportLaws from "./ImportLaws.ts"
export * as Promises from "./Promises.ts"
export * as ScriptedCallbacks from "./ScriptedCallbacks.ts"
export * as StoreLaws from "./StoreLaws.ts"
export * as Suite from "./Suite.ts"
export * as TestSecrets from "./TestSecrets.ts"
export * as TestUsers from "./TestUsers.ts"
export * as UnreliableNetwork from "./UnreliableNetwork.ts"
export * as VirtualTime from "./VirtualTime.ts"
export * as WebhookRequest from "./WebhookRequest.ts"
