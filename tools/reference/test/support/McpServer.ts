/** A server that embeds Startlist, and has an MCP server of its own behind a guard. */
import { Startlist } from "@startlist/embed"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import type { RequestListener } from "node:http"

/** The tools that the user of this access can call. */
const serverOf = ({ userId }: Startlist.Access): McpServer => {
  const server = new McpServer({ name: "club", version: "1.0.0" })
  server.registerTool("results", { description: "Results of the user" }, () => ({
    content: [{ type: "text", text: `User ${userId} has no results.` }]
  }))
  return server
}

/** Startlist at `/connect`, and the MCP server at `/mcp`. */
export const make = async (origin: string, options: Pick<Startlist.Options, "findUser" | "authentication">) => {
  const resource = { url: `${origin}/mcp`, scopes: ["results:read"] }
  const startlist = await Startlist.make({
    url: `${origin}/connect`,
    policy: { scopes: ["profile:read", "results:read"] },
    resources: [resource],
    ...options
  })
  const mcp = startlist.guardListener(
    { resource: resource.url, scopes: resource.scopes },
    async (request, response, access) => {
      const transport = new StreamableHTTPServerTransport()
      response.once("close", () => void transport.close())
      await serverOf(access).connect(transport)
      await transport.handleRequest(request, response)
    }
  )
  // Startlist also answers for the metadata below /.well-known, and everything else with 404.
  const listener: RequestListener = (request, response) =>
    request.url === "/mcp" ? void mcp(request, response) : startlist.listener(request, response)
  return { startlist, listener }
}
