/** Sentences of a catalogue that contain an element. */
import type { ComponentChildren } from "preact"

/** A private character of Unicode, which no sentence contains. */
const mark = "\uE000"

/** The sentence `say` with the element `about` in it. */
export const Sentence = ({ about, say }: {
  readonly say: (value: string) => string
  readonly about: ComponentChildren
}) => {
  const [before, after] = say(mark).split(mark)
  return <>{before}{about}{after}</>
}
