/** The description of the API as HTML for people, without scripts. */
import * as Effect from "effect/Effect"
import { Marked } from "marked"
import { gfmHeadingId } from "marked-gfm-heading-id"
import { convertMarkdown } from "openapi-to-md"
import { document } from "./Description.ts"

/** Code can be wider than a phone: whoever has no mouse scrolls it with the keyboard. */
const marked = new Marked(gfmHeadingId(), {
  renderer: {
    code: ({ text }) =>
      `<pre tabindex="0"><code>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</code></pre>\n`
  }
})

/** The converter's first heading is the title, which the page has already. */
const withoutTitle = (markdown: string): string => markdown.replace(/^# .*\n/, "")

/** A table below a heading of its own scrolls within the page, as on the other pages. */
const scrolling = (html: string): string =>
  html.replaceAll(/>([^<>]*)<\/h2>\n<table>/g, `>$1</h2>\n<section class="scroll" aria-label="$1" tabindex="0"><table>`)
    .replaceAll("</table>", "</table></section>")

/** The converter knows no webhooks: they are shown as what the service asks of the address of a callback. */
const withWebhooks = (text: string): string => {
  const { webhooks, paths, ...rest } = JSON.parse(text)
  return JSON.stringify({
    ...rest,
    paths: { ...paths, "{callback_url}": { ...webhooks.challenge, ...webhooks.event } }
  })
}

/** HTML of all operations, webhooks and schemas. */
export const content: Effect.Effect<string> = Effect.promise(async () => {
  const markdown = await convertMarkdown(withWebhooks(document()))
  return scrolling(await marked.parse(withoutTitle(markdown ?? "")))
})
