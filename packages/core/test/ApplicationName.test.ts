import { describe, expect, it } from "@effect/vitest"
import { Option } from "effect"
import { problemOf } from "../src/ApplicationName.ts"

const isGood = (name: string) => ["Startlist", "Club Run"].every((platform) => Option.isNone(problemOf(name, platform)))

describe("the name of an application", () => {
  const good = [
    "Race Day",
    "Été à Genève 2026",
    "O'Neill's Trail & Road (beta), v2.0 – 50+",
    "Марафон Москва",
    "Strava для клуба",
    "ランニング部の記録",
    "달리기 앱",
    "跑步记录",
    "מרוץ ירושלים",
    "सड़क दौड़",
    "Μαραθώνιος",
    "Cafe\u0301 Run",
    "Restartlisting",
    "Run Club Bern",
    "🏃🏽‍♀️ Runner ❤️"
  ]
  for (const name of good) {
    it(`may be ${name}`, () => expect(isGood(name)).toBe(true))
  }

  const bad = {
    "control characters": ["Race\u0000Day", "Race\nDay", "\u001b[2JRace", "Race\u009b31m", "Race\u007f"],
    "characters that change the direction": ["Race\u202eyaD", "\u2066Race\u2069", "Race\u200f", "Race\u061c"],
    "invisible characters": [
      "Race\u200bDay",
      "Race\u200dDay",
      "Race\ufeff",
      "Ra\u00adce",
      "\u3164",
      "\u115f",
      "\u2800",
      "Race\u2060",
      "🏃\u200d",
      "\ufe0f🏃",
      "Race\u00a0Day",
      "Race\u3000Day",
      "Race\u2028Day",
      "Race\ufe0f",
      "Race\u{e0041}",
      "Race\ue000"
    ],
    "styled letters": ["Ｒａｃｅ", "𝐑𝐚𝐜𝐞", "ℛace", "ﬁnish", "Ⓡace"],
    "letters of another alphabet within a word": ["Strаva", "Ѕtrava", "Gοogle", "Garmіn", "Ꮪtrava", "ꓢtrava"],
    "only letters that look like Latin ones": ["Ѕосо", "РАСЕ", "ΝΙΚΕ", "Охсо", "ցօօ"],
    "the name of the platform": [
      "Startlist",
      "STARTLIST",
      "startlist",
      "Stàrtlîst",
      "Start1ist",
      "StartIist",
      "5tartli5t",
      "Startl!st",
      "Startlist Support",
      "The Startlist-App",
      "My Startlist",
      "S t a r t l i s t",
      "Start list",
      "Startłist",
      "Club Run",
      "club-run Bern",
      "ClubRun",
      "ꜱᴛᴀʀᴛʟɪꜱᴛ",
      "ꜱtartlist",
      "🅢tartlist",
      "🅂🅃🄰🅁🅃🄻🄸🅂🅃",
      "🅢🅣🅐🅡🅣🅛🅘🅢🅣",
      "🆂🆃🅰🆁🆃🅻🅸🆂🆃",
      "🇸🇹🇦🇷🇹🇱🇮🇸🇹",
      "Startlists",
      "Startlist’s App",
      "Start lists",
      "Clubs Runs"
    ]
  }
  for (const [kind, names] of Object.entries(bad)) {
    for (const name of names) {
      it(`has no ${kind}: ${JSON.stringify(name)}`, () => expect(isGood(name)).toBe(false))
    }
  }
})
