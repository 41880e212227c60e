/**
 * The Startlist service: configuration, wiring and command line.
 *
 * Each module is a namespace of its own: `Configuration.decode`, `Service.run`.
 */
export * as Configuration from "./settings/Configuration.ts"
export * as OperatorClient from "./operator/OperatorClient.ts"
export * as Service from "./Service.ts"
