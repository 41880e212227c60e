/** Runs the server: `node --import tsx src/main.ts`. */
import * as Connect from "./Connect.ts"
import * as Server from "./Server.ts"
import * as Users from "./Users.ts"

const port = Number(process.env["PORT"] ?? 3000)

Users.add({ role: "platform", email: "paul@club.example", firstName: "Paul" }, "paul")
Users.add({ role: "athlete", email: "alice@club.example", firstName: "Alice" }, "alice")

const origin = `http://127.0.0.1:${port}`
const startlist = await Connect.start(origin)
await Server.make(startlist).listen({ port, host: "127.0.0.1" })
console.log(`${origin} listens; register an application at ${origin}/connect/developer/applications`)
