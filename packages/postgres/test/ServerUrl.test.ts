import { describe, expect, it } from "@effect/vitest"
import * as ServerUrl from "../src/ServerUrl.ts"

const start = "postgres://ada:p%40ss@"

describe("the URL of a database", () => {
  it("names one server, and `pg` gets it unchanged", () => {
    for (
      const url of [`${start}db/startlist`, "postgresql://db:5433/x?options=-c%20a=b", "postgres://ada@%2Frun%2Fpg/x"]
    ) {
      expect(ServerUrl.parse(url)).toMatchObject({ url, servers: [] })
    }
  })

  it("names several servers, and no password in its description", () => {
    expect(ServerUrl.parse(`${start}one:6000,two,[::1]:6001/startlist?sslmode=require&target_session_attrs=read-write`))
      .toEqual({
        url: `${start}one:6000/startlist?sslmode=require`,
        servers: [{ host: "one", port: 6000 }, { host: "two", port: 5432 }, { host: "::1", port: 6001 }],
        description: "one:6000,two,[::1]:6001/startlist"
      })
  })

  it("is refused if it is invalid, or allows a server that does not take writes", () => {
    const refused = [
      "",
      "db/startlist",
      "http://db/startlist",
      `${start}one,/x`,
      `${start}one,two:x/x`,
      `${start}one,two:70000/x`,
      `${start}one:x/x`,
      `${start}one/x?target_session_attrs=any`,
      `${start}one,two/x?target_session_attrs=standby`
    ]
    expect(refused.filter((url) => ServerUrl.parse(url) !== undefined)).toEqual([])
  })
})
