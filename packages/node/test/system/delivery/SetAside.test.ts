/** A delivery that crashes the process that attempts it (law 5). */
import { expect, it } from "@effect/vitest"
import { Browser } from "@startlist/test-support/Browser"
import { obtainTokens, openAs, subscribe } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate
} from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { runStartlist, type Service, startService, testProgram } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { Effect } from "effect"

const program = testProgram(new URL("./support/lethalName.ts", import.meta.url))

it.scopedLive(
  "is set aside after several crashes, can be listed and redelivered, and delays no other delivery",
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const receiver = yield* makeReceiver
      const environment = {
        DATA_DIR: folder,
        CALLBACK_ALLOW: "127.0.0.0/8",
        // On a busy machine, a claim that is too late for an attempt also counts.
        LEASE_MILLIS: "6000"
      }
      let running: Service | undefined
      yield* Effect.addFinalizer(() => Effect.promise(async () => running?.stop("SIGKILL")))
      const start = async (settings: Readonly<Record<string, string>>) =>
        running = await startService({ ...environment, ...settings }, program)

      yield* Effect.promise(async () => {
        const { port } = new URL(receiver.url)
        const first = await start({})
        const platform = await createUser(first, "platform")
        const athlete = await createUser(first, "athlete")
        const application = async (host: string) => {
          const client = await createApplication(first, platform)
          const { access_token } = await obtainTokens(first, client, platform)
          await obtainTokens(first, client, athlete)
          expect((await subscribe(first, access_token, `http://${host}:${port}/${host}`)).status).toBe(201)
          return client.client_id
        }
        const lethal = await application("lethal.example")
        await application("good.example")
        const registration = await createRegistration(first, { athlete_id: athlete.id })
        await first.stop()

        const armed = { LETHAL: "lethal.example" }
        const second = await start(armed)
        expect(await changeRegistration(second, registration, { registration_status: "changed" })).toBe(200)
        await second.exit

        const deliveries = async (service: Service, query: string) =>
          (await operate(service, "GET", `/deliveries?${query}`)).body.deliveries
        let deaths = 1
        const outlived = (service: Service) => {
          let isOver = false
          void service.exit.then(() => isOver = true)
          const setAside = () => deliveries(service, "state=set_aside").catch(() => [])
          return eventually(setAside, (found) => isOver || found.length > 0)
        }
        let found: ReadonlyArray<{ readonly [field: string]: unknown }> = []
        while (found.length === 0) {
          // A process may end before it prints its start line.
          found = await start(armed).then(outlived, () => [])
          if (found.length === 0) deaths++
          expect(deaths).toBeLessThanOrEqual(10)
        }
        expect(deaths).toBeGreaterThan(1)
        const service = running
        if (service === undefined) return expect.unreachable("it is running")
        expect(found).toMatchObject([{ client_id: lethal, state: "set_aside", attempts: [] }])

        await receiver.until(() =>
          receiver.received.some(({ method, url }) => method === "POST" && url === "/good.example")
        )
        const metrics = await fetch(`${service.url}/metrics`, {
          headers: { authorization: `Bearer ${service.operatorToken}` }
        })
        expect(await metrics.text()).toMatch(/^startlist_deliveries_ended_total\{.*state="set_aside".*\} 1$/m)
        expect(service.stdout() + service.stderr()).toMatch(/delivery \d+ is set aside/)

        const at = ["--url", service.url, "--token", service.operatorToken]
        const listed = await runStartlist(["delivery", "list", "--state", "set_aside", ...at])
        expect(listed.stdout).toMatch(/set_aside/)
        for (const [language, words] of [["en", "set aside"], ["fr", "mise de côté"]] as const) {
          const list = `${service.url}/developer/applications/${lethal}/deliveries?state=set_aside`
          const { html } = await openAs(new Browser({ "accept-language": language }), list, platform)
          expect(html).toContain(`<span class="badge set_aside">${words}</span>`)
        }
        await service.stop()

        const repaired = await start({})
        const again = ["--url", repaired.url, "--token", repaired.operatorToken]
        const redelivered = await runStartlist(["delivery", "redeliver", "--state", "set_aside", ...again])
        expect(redelivered.stdout).toMatch(/redelivered +1/)
        await receiver.until(() =>
          receiver.received.some(({ method, url }) => method === "POST" && url === "/lethal.example")
        )
      })
    })
)
