/** The service itself, as `npm start` starts it. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Process from "./Process.ts"

const program = fileURLToPath(new URL("../../../packages/node/dist/program/startlist.js", import.meta.url))

export interface Started {
  readonly pid: number
  readonly port: number
  /** Milliseconds from the start of the process to its start line. */
  readonly millis: number
  readonly stop: () => Promise<void>
}

/** A new master key. */
export const makeKey = (): string => randomBytes(32).toString("base64")

/** Starts it with a data folder, and optionally a database, which needs the keys of its nodes. */
export const start = async (
  folder: string,
  databaseUrl?: string,
  place: Process.Place = "measured",
  node: string = process.execPath,
  masterKey: string = makeKey()
): Promise<Started> => {
  const began = performance.now()
  const { child, stop } = Process.spawnAt(place, node, [program, "serve"], {
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      DATA_DIR: join(folder, "data"),
      LOG_FORMAT: "json",
      ...databaseUrl !== undefined && {
        DATABASE_URL: databaseUrl,
        OPERATOR_TOKEN: randomBytes(32).toString("base64url"),
        MASTER_KEY: masterKey
      }
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const port = await new Promise<number>((resolve, reject) => {
    let said = ""
    child.stdout?.on("data", (chunk) => {
      said = (said + String(chunk)).slice(-10_000)
      const listens = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)
      if (listens) resolve(Number(listens[1]))
    })
    child.once("exit", (code) => reject(new Error(`the service ended with ${code}: ${said}`)))
  })
  return { pid: child.pid ?? 0, port, millis: performance.now() - began, stop: () => stop("SIGTERM") }
}
