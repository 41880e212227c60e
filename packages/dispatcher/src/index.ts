/**
 * Startlist's outbound HTTP: handshake, delivery, address guard, signing.
 *
 * Each module is a namespace of its own: `Dispatcher.layerWith`, `AddressGuard.parseBlock`.
 */
export * as AddressGuard from "./AddressGuard.ts"
export * as CallbackUrl from "./CallbackUrl.ts"
export * as Dispatcher from "./Dispatcher.ts"
export * as Resolver from "./Resolver.ts"
export * as Signature from "./Signature.ts"
export * as WebCallbacks from "./WebCallbacks.ts"
