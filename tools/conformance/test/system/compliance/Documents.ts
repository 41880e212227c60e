/** The RFCs of the checklist. */
import type { Document } from "./Requirement.ts"
import * as Rfc6749Answers from "./Rfc6749Answers.ts"
import * as Rfc6749Authorization from "./Rfc6749Authorization.ts"
import * as Rfc6749Clients from "./Rfc6749Clients.ts"
import * as Rfc6749Exchange from "./Rfc6749Exchange.ts"
import * as Rfc6749Registration from "./Rfc6749Registration.ts"
import * as Rfc6749Security from "./Rfc6749Security.ts"
import * as Rfc6750 from "./Rfc6750.ts"
import * as Rfc7009 from "./Rfc7009.ts"
import * as Rfc7636 from "./Rfc7636.ts"
import * as Rfc7662 from "./Rfc7662.ts"
import * as Rfc8252 from "./Rfc8252.ts"
import * as Rfc8414 from "./Rfc8414.ts"
import * as Rfc9207 from "./Rfc9207.ts"
import * as Rfc9700Pages from "./Rfc9700Pages.ts"
import * as Rfc9700Tokens from "./Rfc9700Tokens.ts"
import * as Rfc9728 from "./Rfc9728.ts"

export const documents: ReadonlyArray<Document> = [
  {
    name: "RFC 6749",
    title: "The OAuth 2.0 Authorization Framework",
    requirements: [
      ...Rfc6749Registration.requirements,
      ...Rfc6749Authorization.requirements,
      ...Rfc6749Clients.requirements,
      ...Rfc6749Exchange.requirements,
      ...Rfc6749Answers.requirements,
      ...Rfc6749Security.requirements
    ]
  },
  { name: "RFC 6750", title: "Bearer Token Usage", requirements: Rfc6750.requirements },
  { name: "RFC 7009", title: "Token Revocation", requirements: Rfc7009.requirements },
  { name: "RFC 7636", title: "Proof Key for Code Exchange", requirements: Rfc7636.requirements },
  { name: "RFC 7662", title: "Token Introspection", requirements: Rfc7662.requirements },
  { name: "RFC 8252", title: "OAuth 2.0 for Native Apps", requirements: Rfc8252.requirements },
  { name: "RFC 8414", title: "Authorization Server Metadata", requirements: Rfc8414.requirements },
  { name: "RFC 9207", title: "Authorization Server Issuer Identification", requirements: Rfc9207.requirements },
  {
    name: "RFC 9700",
    title: "Best Current Practice for OAuth 2.0 Security",
    requirements: [...Rfc9700Pages.requirements, ...Rfc9700Tokens.requirements]
  },
  { name: "RFC 9728", title: "Protected Resource Metadata", requirements: Rfc9728.requirements }
]
