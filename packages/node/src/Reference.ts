/** Scalar's page, which shows what programs can ask this service for, and brings its script along (3 MB). */
import * as HttpApiScalar from "@effect/platform/HttpApiScalar"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { Api } from "./Description.ts"

/** The page's bytes. */
export const page: Effect.Effect<Uint8Array> = Effect.gen(function*() {
  const page = yield* HttpLayerRouter.toHttpEffect(
    HttpApiScalar.layerHttpLayerRouter({ api: Api, path: "/docs", scalar: { withDefaultFonts: false } })
  )
  const response = yield* Effect.provideService(
    page,
    HttpServerRequest.HttpServerRequest,
    HttpServerRequest.fromWeb(new Request("http://documentation.invalid/docs"))
  )
  return yield* Effect.promise(async () => new Uint8Array(await HttpServerResponse.toWeb(response).arrayBuffer()))
}).pipe(Effect.scoped, Effect.orDie)
