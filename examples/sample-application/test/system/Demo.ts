/** Runs `npm run demo` in a terminal, and ends it with Ctrl-C. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../..", import.meta.url))

export interface Demo {
  /** The text on the screen. */
  readonly screen: () => string
  /** The link to click. */
  readonly link: string
  /** The e-mail address and the password of the account with this role, from the screen. */
  readonly account: (role: string) => { readonly email: string; readonly password: string }
  /** Sends Ctrl-C to every process of the terminal. Returns the exit status. */
  readonly interrupt: () => Promise<number | null>
}

export const start = async (): Promise<Demo> => {
  const child = spawn("npm", ["run", "demo"], { cwd: root, detached: true, stdio: ["ignore", "pipe", "pipe"] })
  let screen = ""
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  const shown = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        screen += text
        const [, link] = /Open this link[^\n]*\n +(http\S+)[\s\S]*Ctrl-C/.exec(screen) ?? []
        if (link !== undefined) resolve(link)
      })
    }
    ended.then((code) => reject(new Error(`npm run demo ended with ${code}:\n${screen}`)))
  })
  const interrupt = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT")
    return ended
  }
  return {
    screen: () => screen,
    link: await shown,
    account: (role) => {
      const [, email = "", password = ""] = new RegExp(` ${role} +(\\S+@\\S+) +(.+)`).exec(screen) ?? []
      return { email, password }
    },
    interrupt
  }
}
