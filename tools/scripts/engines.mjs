/** Ends the process with one line if Node is older than `package.json` says. Imported first, and readable by old versions. */
import { readFileSync } from "fs"

const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
const running = process.versions.node
const [needed] = engines.node.match(/[\d.]+/)
const [major, minor] = running.split(".").map(Number)
const [neededMajor, neededMinor] = needed.split(".").map(Number)

if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
  console.error(`startlist: needs Node ${needed} or later, and runs on ${running}. Install a newer Node.`)
  process.exit(1)
}
