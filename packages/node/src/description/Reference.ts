/** The API reference as HTML without scripts. */
import * as Effect from "effect/Effect"
import { Marked } from "marked"
import { gfmHeadingId } from "marked-gfm-heading-id"
import { convertMarkdown } from "openapi-to-md"
import { document } from "./OpenApiDocument.ts"

/** Tables like those of the other pages: on a narrow screen each cell shows the name of its column. */
const marked = new Marked(gfmHeadingId(), {
  renderer: {
    table({ header, rows }) {
      const columns = header.map(({ tokens }) => this.parser.parseInline(tokens))
      const head = columns.map((column) => `<th scope="col" role="columnheader">${column}</th>`).join("")
      const body = rows.map((row) => {
        const cells = row.map(({ text, tokens }, place) =>
          text === ""
            ? `<td role="cell"></td>`
            : `<td role="cell" data-column="${columns[place]}"><div>${this.parser.parseInline(tokens)}</div></td>`
        )
        return `<tr role="row">${cells.join("")}</tr>`
      })
      return `<table role="table"><thead role="rowgroup"><tr role="row">${head}</tr></thead>` +
        `<tbody role="rowgroup">${body.join("")}</tbody></table>\n`
    }
  }
})

/** Removes the first heading, which repeats the title of the page. */
const withoutTitle = (markdown: string): string => markdown.replace(/^# .*\n/, "")

/** Shows webhooks as a path named `{callback_url}`, since the converter does not support webhooks. */
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
  return await marked.parse(withoutTitle(markdown ?? ""))
})
