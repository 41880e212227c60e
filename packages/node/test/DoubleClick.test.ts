/** The whole service: a form that is sent twice changes one thing. */
import { expect, it } from "@effect/vitest"
import { Browser, theForm } from "@startlist/test-support/Browser"
import { openAs } from "@startlist/test-support/Consent"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { createUser, operate } from "@startlist/test-support/Operator"
import { Effect } from "effect"

it.scopedLive("a double click on Register makes one application, and both answers show its secret", () =>
  Effect.gen(function*() {
    const service = yield* InProcessService.make()
    yield* Effect.promise(async () => {
      const owner = await createUser(service, "platform")
      const browser = new Browser()
      const page = await openAs(browser, `${service.url}/developer/applications`, owner)
      const form = theForm(page, ({ fields }) => fields.has("key"))
      const submit = () => browser.submit(form, { name: "Race Hub", redirect_uris: "https://racehub.example/" })
      const answers = await Promise.all([submit(), submit()])
      expect(answers.map(({ status }) => status)).toEqual([201, 201])
      const secrets = answers.map(({ html }) => /sl_cs_[\w-]+/.exec(html)?.[0])
      expect(secrets[0]).toBeDefined()
      expect(secrets[1]).toBe(secrets[0])
      expect((await operate(service, "GET", "/applications")).body.applications).toHaveLength(1)
    })
  }))
