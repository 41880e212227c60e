/** How the peers and the limit post. Apart from the rest, because undici 8 does not load on Node 20. */
import { createHmac, randomBytes } from "node:crypto"
import { Pool } from "undici-8"
import { type Job, subscriptions } from "./Delivering.ts"

/** Posts an event like our dispatcher: signed, with a timeout of two seconds. Any status except 200 is a failure. */
export const makePost = (callbackUrl: string, concurrency: number) => {
  const { origin, pathname } = new URL(callbackUrl)
  const keys = Array.from({ length: subscriptions + 1 }, () => randomBytes(32))
  const pool = new Pool(origin, { connections: concurrency, headersTimeout: 2000, bodyTimeout: 2000 })
  return async ({ body, id, subscriptionId }: Job): Promise<void> => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const key = keys[subscriptionId] ?? Buffer.alloc(0)
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
    const response = await pool.request({
      method: "POST",
      path: pathname,
      headers: {
        "content-type": "application/json",
        "user-agent": "Startlist",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature}`
      },
      body
    })
    await response.body.dump()
    if (response.statusCode !== 200) throw new Error(`the callback answered ${response.statusCode}`)
  }
}
