/** The data of the demonstration, made through the service's operator API. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Demonstration } from "../src/Settings.ts"

/** The passwords protect nothing: the data ends with the demonstration. */
export const people = [
  {
    role: "athlete",
    name: "Alice Moreau",
    first_name: "Alice",
    last_name: "Moreau",
    email: "alice@athletes.example",
    password: "alice runs far"
  },
  {
    role: "platform",
    name: "Paul Lambert",
    first_name: "Paul",
    last_name: "Lambert",
    email: "paul@platform.example",
    password: "paul keeps lists"
  },
  {
    role: "organizer",
    name: "Olga Petit",
    first_name: "Olga",
    last_name: "Petit",
    email: "olga@races.example",
    password: "olga opens roads"
  }
] as const

export interface Scene {
  readonly clientId: number
  readonly clientSecret: string
  readonly signingSecret: string
  readonly demonstration: Demonstration
}

interface Made {
  readonly id: number
}

interface Client {
  readonly client_id: number
  readonly client_secret: string
  readonly signing_secret: string
}

/** Makes the people, the application of the platform user, and a registration of the athlete. */
export const set = async (serviceUrl: string, dataDir: string, redirectUri: string): Promise<Scene> => {
  const operatorToken = (await readFile(join(dataDir, "operator-token"), "utf8")).trim()
  const post = async <A>(path: string, body: unknown): Promise<A> => {
    const response = await fetch(`${serviceUrl}/operator/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    if (response.status !== 201) {
      throw new Error(`${path} was answered with ${response.status} ${await response.text()}`)
    }
    return await response.json()
  }
  const createUser = ({ name: _, ...person }: (typeof people)[number]) => post<Made>("/users", person)

  const [athlete, platform, organizer] = people
  const { id: athleteId } = await createUser(athlete)
  const { id: ownerId } = await createUser(platform)
  const { id: organizerId } = await createUser(organizer)
  const client = await post<Client>("/applications", {
    name: "Race Planner",
    owner_id: ownerId,
    redirect_uris: [redirectUri],
    require_pkce: true
  })
  const registration = await post<Made>("/registrations", {
    athlete_id: athleteId,
    organizer_id: organizerId,
    platform_id: "MARATHON-2027-0042",
    registration_status: "pending",
    document_type: "medical certificate",
    document_status: "to be checked"
  })
  return {
    clientId: client.client_id,
    clientSecret: client.client_secret,
    signingSecret: client.signing_secret,
    demonstration: {
      operatorToken,
      registrationId: registration.id,
      accounts: people.map(({ email, name, password, role }) => ({ email, name, password, role }))
    }
  }
}
