/** The installation as a whole. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Backup } from "../data/Backup.ts"
import { rootMessage } from "../telemetry/Log.ts"
import { type Group, operation } from "./Operation.ts"
import { conflict } from "./OperatorErrors.ts"

const backUp = operation({
  request: "POST /backups",
  summary: "Back up the embedded database",
  description:
    "Copies the database and its keys into a new folder in DATA_DIR, while the service runs. Refused with PostgreSQL: use its own tools.",
  input: {},
  output: Schema.Struct({ folder: Schema.String }).annotations({ identifier: "Backup" }),
  status: 201,
  refuses: [409],
  isUntimed: true,
  run: () =>
    Effect.flatMap(Backup, ({ make }) => make).pipe(
      Effect.map((folder) => ({ folder })),
      Effect.catchTags({
        "@startlist/node/NotEmbedded": () =>
          conflict("Backup", "", "not_embedded", "the data is in PostgreSQL: use pg_dump"),
        "@startlist/node/BackupFailed": ({ cause }) =>
          Effect.zipRight(
            Effect.logError("the backup could not be written", cause),
            conflict("Backup", "", "not_written", `the backup cannot be written: ${rootMessage(cause)}`)
          )
      })
    )
})

/** Backups. The command `backup` also moves the copy. */
export const installation = {
  isWithoutDatabase: true,
  texts: {
    folder: [
      "Folder of the copy, on the machine of the service",
      "/var/lib/startlist/backups/2026-06-01T08-00-00.000Z"
    ]
  },
  members: { backUp }
} satisfies Group
