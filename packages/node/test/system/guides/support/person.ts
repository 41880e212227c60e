/**
 * What a person does in the browser, for the shell: `allow URL [platform|athlete]` signs in, allows, and says where the
 * browser was sent; `secret CLIENT_ID` reveals the signing secret as the owner.
 */
import { Browser } from "@startlist/test-support/Browser"
import { decide, openAs, revealSigningSecret } from "@startlist/test-support/Consent"

/** The people of the guides. */
const people: Readonly<Record<string, { readonly email: string; readonly password: string }>> = {
  platform: { email: "dev@example.org", password: "correct horse" },
  athlete: { email: "ada@example.org", password: "battery staple" }
}

const who = (role: string) => {
  const person = people[role]
  if (person === undefined) throw new Error(`nobody is called ${role}`)
  return { id: 0, first_name: "", last_name: "", ...person }
}

const [, , command, argument = "", role = "athlete"] = process.argv

if (command === "allow") {
  const browser = new Browser()
  console.log((await decide(browser, await openAs(browser, argument, who(role)), "allow")).href)
} else if (command === "secret") {
  const service = { url: process.env["STARTLIST_URL"] ?? "" }
  const client = { client_id: Number(argument), client_secret: "" }
  console.log(await revealSigningSecret(service, client, who("platform")))
} else throw new Error(`what is ${command}?`)
