/** The failure of a command. */
import * as Schema from "effect/Schema"

/** A failed command. The message is one line for people. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>("@startlist/node/CommandFailed")("CommandFailed", {
  message: Schema.String
}) {}
