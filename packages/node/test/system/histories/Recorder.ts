/** Callers of the running service, and what they observe of one grant. */
import { Browser, type Form, theForm } from "@startlist/test-support/Browser"
import { authorizeUrl, openAs } from "@startlist/test-support/Consent"
import type { Client, Person } from "@startlist/test-support/Operator"
import type { Answer, Operation, Request } from "@startlist/model/histories/History"

/** A caller gives up after this: the outcome is unknown. */
const patienceMillis = 3000

/** A node as a caller sees it. */
export interface Target {
  readonly name: string
  readonly url: string
}

/** The requests in progress, so that a fault can destroy their sockets. */
export class InProgress {
  readonly #controllers = new Set<AbortController>()

  /** Runs a request, which ends with its socket destroyed after the patience of its caller. */
  async run<A>(request: (signal: AbortSignal) => Promise<A>): Promise<A> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), patienceMillis)
    this.#controllers.add(controller)
    try {
      return await request(controller.signal)
    } finally {
      clearTimeout(timer)
      this.#controllers.delete(controller)
    }
  }

  /** Destroys the sockets of all requests. Returns their number. */
  destroy(): number {
    const { size } = this.#controllers
    for (const controller of this.#controllers) controller.abort()
    return size
  }
}

/** A browser whose requests the caller can give up. */
class ImpatientBrowser extends Browser {
  readonly #inProgress: InProgress

  constructor(inProgress: InProgress) {
    super()
    this.#inProgress = inProgress
  }

  override request(url: string, init: RequestInit = {}) {
    return this.#inProgress.run((signal) => super.request(url, { ...init, signal }))
  }
}

/** A user with the browser in which the user is signed in, or will be. */
export interface SignedIn {
  readonly user: Person
  readonly browser: Browser
}

export const makeSignedIn = (user: Person, inProgress: InProgress): SignedIn => ({
  user,
  browser: new ImpatientBrowser(inProgress)
})

export interface Recorder {
  /** The operations that have ended, in the order of their ends. */
  readonly history: ReadonlyArray<Operation>
  /** The numbers of the codes and pairs that were given, oldest first. */
  readonly codes: ReadonlyArray<number>
  readonly pairs: ReadonlyArray<number>
  /** Sends a request and records it. None: it was certainly not sent. */
  readonly call: (caller: string, node: Target, request: Request) => Promise<Operation | undefined>
}

/** Numbers by first sight, from 1. */
class Names {
  readonly texts: Array<string> = []

  get numbers(): ReadonlyArray<number> {
    return this.texts.map((_, index) => index + 1)
  }

  numberOf(text: string): number {
    const index = this.texts.indexOf(text)
    return index < 0 ? this.texts.push(text) : index + 1
  }

  textOf(number: number): string {
    const text = this.texts[number - 1]
    if (text === undefined) throw new Error(`nothing has the number ${number}`)
    return text
  }
}

/** Whether nothing listened there. */
const isRefused = (error: unknown): boolean =>
  error instanceof TypeError && error.cause instanceof Error && "code" in error.cause &&
  error.cause.code === "ECONNREFUSED"

/** The history of the grant of this user to this application. */
export const makeRecorder = (client: Client, { browser, user }: SignedIn, inProgress: InProgress): Recorder => {
  const history: Array<Operation> = []
  const codes = new Names()
  const pairs = new Names()
  const credentials = { client_id: String(client.client_id), client_secret: client.client_secret }

  const tokensOf = (pair: number): readonly [access: string, refresh: string] => {
    const [access = "", refresh = ""] = pairs.textOf(pair).split(" ")
    return [access, refresh]
  }

  const ask = (url: string, init: RequestInit): Promise<{ readonly status: number; readonly text: string }> =>
    inProgress.run(async (signal) => {
      const response = await fetch(url, { ...init, signal })
      return { status: response.status, text: await response.text() }
    })

  const post = (url: string, form: Readonly<Record<string, string>>, key?: string) => {
    const headers = key === undefined ? {} : { "idempotency-key": key }
    return ask(url, { method: "POST", body: new URLSearchParams({ ...credentials, ...form }), headers })
  }

  const askForPair = async ({ url }: Target, form: Readonly<Record<string, string>>, key?: string): Promise<Answer> => {
    const { status, text } = await post(`${url}/oauth/token`, form, key)
    if (status !== 200) return { status }
    const { access_token, refresh_token } = JSON.parse(text)
    return { status, pair: pairs.numberOf(`${access_token} ${refresh_token}`) }
  }

  const send = async (node: Target, request: Exclude<Request, { readonly kind: "consent" }>): Promise<Answer> => {
    switch (request.kind) {
      case "exchange": {
        const form = { grant_type: "authorization_code", code: codes.textOf(request.code) }
        return askForPair(node, form, request.key)
      }
      case "refresh": {
        const [, refresh] = tokensOf(request.pair)
        return askForPair(node, { grant_type: "refresh_token", refresh_token: refresh }, request.key)
      }
      case "revoke": {
        const [access, refresh] = tokensOf(request.pair)
        const { status } = await post(`${node.url}/oauth/revoke`, { token: request.by === "access" ? access : refresh })
        return { status }
      }
      case "check": {
        const [access] = tokensOf(request.pair)
        const headers = { authorization: `Bearer ${access}` }
        return { status: (await ask(`${node.url}/api/v1/athlete`, { headers })).status }
      }
    }
  }

  const press = async (form: Form): Promise<Answer> => {
    const { headers, status } = await browser.submit(form, {}, ["decision", "allow"])
    const location = headers.get("location")
    const code = location === null ? null : new URL(location).searchParams.get("code")
    return { status, code: code === null ? undefined : codes.numberOf(code) }
  }

  /** The page before the consent changes nothing of the grant: without it, nothing is sent. */
  const openConsent = async (node: Target): Promise<Form | undefined> => {
    try {
      const page = await openAs(browser, authorizeUrl(node, client), user)
      return theForm(page, ({ buttons }) => buttons.some(([name]) => name === "decision"))
    } catch {
      return undefined
    }
  }

  const call: Recorder["call"] = async (caller, node, request) => {
    const form = request.kind === "consent" ? await openConsent(node) : undefined
    if (request.kind === "consent" && form === undefined) return undefined
    const called = performance.now()
    const record = (answer: Answer | undefined) => {
      // Nothing is known about what came of a request that was answered with 503.
      const known = answer?.status === 503 ? undefined : answer
      const operation = { caller, node: node.name, request, called, returned: performance.now(), answer: known }
      history.push(operation)
      return operation
    }
    try {
      if (form !== undefined) return record(await press(form))
      return request.kind === "consent" ? undefined : record(await send(node, request))
    } catch (error) {
      return isRefused(error) ? undefined : record(undefined)
    }
  }

  return {
    history,
    call,
    get codes() {
      return codes.numbers
    },
    get pairs() {
      return pairs.numbers
    }
  }
}
