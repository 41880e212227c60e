/** Sentences of a catalogue that are about something with markup of its own. */
import type { ComponentChildren } from "preact"

/** A private character of Unicode: no sentence has it. */
const mark = "\uE000"

/** What `say` says about `about`. */
export const Sentence = ({ about, say }: {
  readonly say: (value: string) => string
  readonly about: ComponentChildren
}) => {
  const [before, after] = say(mark).split(mark)
  return <>{before}{about}{after}</>
}
