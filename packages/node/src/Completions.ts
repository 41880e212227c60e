/** The completions for bash as @effect/cli 0.77 makes them, with what is wrong in them put right. */

/**
 * A nested command is looked for as `startlist,delivery,list`, but by then it has become `startlist__delivery`; a hyphen in its
 * name has become `__`; and the choices of an option are one word with commas.
 */
export const mend = (script: string): string =>
  script
    .replaceAll(
      /^( +)(\w+),([\w-]+),([\w-]+)\)$/gm,
      (_, indent: string, ...[program, group, command]: ReadonlyArray<string>) =>
        `${indent}${program}__${group},${command?.replaceAll("__", "-")})`
    )
    .replaceAll(/compgen -W "([\w,-]+)"/g, (_, choices: string) => `compgen -W "${choices.replaceAll(",", " ")}"`)
