/** The server of a loop: Startlist, and methods for preparations that its interface does not offer. */
import { Context, Effect, Layer } from "effect"
import * as Operator from "./Operator.ts"
import type { Client, Person } from "./Operator.ts"
import * as TestService from "./TestService.ts"

export class LoopServer extends Context.Tag("@startlist/node/test/LoopServer")<LoopServer, {
  /** The public address, without a trailing slash. Users sign in with e-mail address and password. */
  readonly url: string
  /** Creates the user Ada Lovelace with this role. */
  readonly createUser: (role: "platform" | "organizer" | "athlete") => Promise<Person>
  readonly createApplication: (owner: Person) => Promise<Client>
  /** Returns the identifier. */
  readonly createRegistration: (parties: {
    readonly athlete_id: number
    readonly organizer_id?: number
    readonly platform_id?: string
  }) => Promise<number>
  /** Returns 200 if it was changed. */
  readonly changeRegistration: (id: number, updates: {
    readonly registration_status?: string
    readonly document_status?: string
    readonly reasons?: ReadonlyArray<string>
  }) => Promise<number>
  /** The deliveries of an application, newest first. */
  readonly deliveryStates: (client: Client) => Promise<ReadonlyArray<string>>
}>() {}

/** The service in its own process, prepared with its operator API. */
export const process: Layer.Layer<LoopServer> = Layer.effect(
  LoopServer,
  Effect.map(TestService.TestService, (service) => ({
    url: service.url,
    createUser: (role) => Operator.createUser(service, role),
    createApplication: (owner) => Operator.createApplication(service, owner),
    createRegistration: (parties) => Operator.createRegistration(service, parties),
    changeRegistration: (id, updates) => Operator.changeRegistration(service, id, updates),
    deliveryStates: async ({ client_id }) => {
      const { body } = await Operator.operate(service, "GET", `/deliveries?client_id=${client_id}`)
      return body.deliveries.map(({ state }: { readonly state: string }) => state)
    }
  }))
).pipe(Layer.provide(TestService.layer()))
