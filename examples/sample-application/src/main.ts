/** Starts the application, and stops it with Ctrl-C. */
import * as Server from "./Server.ts"
import * as Settings from "./Settings.ts"

try {
  const settings = Settings.read(process.env)
  const server = await Server.start(settings)
  console.log(`Race Planner listens on ${settings.publicUrl}/`)
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      server.close()
      server.closeAllConnections()
    })
  }
} catch (error) {
  console.error(`Race Planner: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
