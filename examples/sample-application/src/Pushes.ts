/** Notifies open pages of changes, by server-sent events. */
import type { ServerResponse } from "node:http"

export interface Pushes {
  /** Leaves a response open, and pushes to it from now on. */
  readonly open: (response: ServerResponse, now: unknown) => void
  readonly push: (data: unknown) => void
}

/** Interval of messages that prevent a proxy from closing an idle connection. */
const heartbeat = 20_000

export const make = (): Pushes => {
  const pages = new Set<ServerResponse>()
  const write = (page: ServerResponse, data: unknown) => page.write(`data: ${JSON.stringify(data)}\n\n`)
  setInterval(() => {
    for (const page of pages) page.write(":\n\n")
  }, heartbeat).unref()
  return {
    open: (response, now) => {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
      pages.add(response)
      response.once("close", () => pages.delete(response))
      write(response, now)
    },
    push: (data) => {
      for (const page of pages) write(page, data)
    }
  }
}
