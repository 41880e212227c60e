/**
 * A Worker. Startlist runs in a Durable Object, because stores in memory and deliveries need a single object that
 * outlives requests: a Worker itself has many isolates, and its timers end with the request.
 */
import { type Fetch, start } from "./Club.ts"

export class Club {
  #club: Promise<Fetch> | undefined

  async fetch(request: Request): Promise<Response> {
    // Isolates have neither timers nor random numbers before the first request.
    this.#club ??= start(new URL(request.url).origin)
    return (await this.#club)(request, request.headers.get("cf-connecting-ip") ?? undefined)
  }
}

interface Environment {
  readonly CLUB: {
    readonly idFromName: (name: string) => unknown
    readonly get: (id: unknown) => { readonly fetch: (request: Request) => Promise<Response> }
  }
}

export default {
  fetch: (request: Request, { CLUB }: Environment): Promise<Response> =>
    CLUB.get(CLUB.idFromName("club")).fetch(request)
}
