/** The typed client of the operator API, made of its operations. */
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Problem } from "@startlist/http/description/ProtocolApi"
import * as Input from "./Input.ts"
import type { Fields, Operation } from "./Operation.ts"
import { type Groups, groups, operationsOf } from "./operations.ts"
import { type AnyError, badRequest, fromStatus } from "./OperatorErrors.ts"

/** A service, and its operator token. */
export interface Target {
  /** Such as `https://host:port`. */
  readonly url: string
  readonly token: Redacted.Redacted<string>
}

/** A response that is not the operator API's. `reason` is the message of its body. Empty if there is none. */
export class UnexpectedResponse extends Data.TaggedError("@startlist/node/UnexpectedResponse")<{
  readonly status: number
  readonly reason: string
}> {
  override get message(): string {
    return this.reason === "" ? `unexpected response with status ${this.status}` : this.reason
  }
}

/** Failures of a call. */
export type Failure = AnyError | UnexpectedResponse | HttpClientError.HttpClientError

type Output = Schema.Schema.AnyNoContext

/** The request of an operation. Fails if the service would refuse the input. */
const requestOf = <F extends Fields>(
  { token, url }: Target,
  { input: fields, inPath, method, path }: Operation<F>,
  input: Schema.Struct.Type<F>
) =>
  Either.map(Either.mapLeft(Input.encode(fields)(input), badRequest), (encoded) => {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(encoded[name])))
    const others = Object.entries(encoded).filter(([name, value]) => !(name in inPath) && value !== undefined)
    const request = HttpClientRequest.make(method)(url + filled).pipe(HttpClientRequest.bearerToken(token))
    if (method === "GET") {
      return HttpClientRequest.setUrlParams(
        request,
        others.map(([name, value]) => [name, String(value)] as const)
      )
    }
    return others.length === 0 ? request : HttpClientRequest.bodyUnsafeJson(request, Object.fromEntries(others))
  })

const Refused = Schema.parseJson(Schema.Struct({
  message: Schema.String,
  errors: Schema.optionalWith(Schema.Array(Problem), { default: () => [] })
}))

const decodeRefused = Schema.decodeOption(Refused)

const refusalOf = (status: number, body: string): AnyError | UnexpectedResponse =>
  Option.match(decodeRefused(body), {
    onNone: () => new UnexpectedResponse({ status, reason: "" }),
    onSome: ({ errors, message }) =>
      fromStatus(status, message, errors) ?? new UnexpectedResponse({ status, reason: message })
  })

const read = <A>(output: Schema.Schema<A, unknown>, response: HttpClientResponse.HttpClientResponse) =>
  Effect.gen(function*() {
    const { status } = response
    const body = yield* response.text
    if (status < 200 || status >= 300) return yield* refusalOf(status, body)
    const decoded = status === 204
      ? Schema.decodeUnknown(output)(undefined)
      : Schema.decode(Schema.parseJson(output))(body)
    return yield* Effect.mapError(decoded, () => new UnexpectedResponse({ status, reason: "" }))
  })

/** Calls an operation of a service. */
export const call = <F extends Fields, O extends Output>(
  target: Target,
  operation: Operation<F, O>,
  input: Schema.Struct.Type<F>
): Effect.Effect<Schema.Schema.Type<O>, Failure, HttpClient.HttpClient> =>
  requestOf(target, operation, input).pipe(
    Effect.flatMap((request) => HttpClient.execute(request)),
    // Safe: `output` is a schema of this type, as the response is JSON.
    Effect.flatMap((response) =>
      read(operation.output as unknown as Schema.Schema<Schema.Schema.Type<O>, unknown>, response)
    )
  )

type Method<Member> = Member extends Operation<infer F, infer O>
  ? (input: Schema.Struct.Type<F>) => Effect.Effect<Schema.Schema.Type<O>, Failure>
  : never

type Methods<Members> = {
  readonly [Name in keyof Members as Members[Name] extends Operation<infer _F, infer _O> ? Name : never]: Method<
    Members[Name]
  >
}

/** A method for each operation, in the groups of `openapi.json`. */
export type Client = { readonly [Name in keyof Groups]: Methods<Groups[Name]["members"]> }

/** A client of the service at `url`. Errors are typed by their `_tag`, such as `NotFound`. */
export const make = (target: Target): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const methodOf = (operation: Operation) => (input: Input.Raw) =>
      Effect.provideService(call(target, operation, input), HttpClient.HttpClient, http)
    // Safe: the same names and operations as in `Groups`, whose types `Object.fromEntries` loses.
    return Object.fromEntries(
      Object.entries(groups).map(([name, group]) => [
        name,
        Object.fromEntries(operationsOf(group).map(([name, operation]) => [name, methodOf(operation)]))
      ])
    ) as unknown as Client
  })
