/** Corrects the completions for bash that @effect/cli 0.77 generates. */

/**
 * The script looks for `startlist,delivery,list` where it has `startlist__delivery`, replaces hyphens in names by `__`,
 * and writes the choices of an option as one word with commas.
 */
export const mend = (script: string): string =>
  script
    .replaceAll(
      /^( +)(\w+),([\w-]+),([\w-]+)\)$/gm,
      (_, indent: string, ...[program, group, command]: ReadonlyArray<string>) =>
        `${indent}${program}__${group},${command?.replaceAll("__", "-")})`
    )
    .replaceAll(/compgen -W "([\w,-]+)"/g, (_, choices: string) => `compgen -W "${choices.replaceAll(",", " ")}"`)
