/** Lists what a built package exports: one line for each declaration, with its types and without comments. */
import { createHash } from "node:crypto"
import { dirname, join } from "node:path"
import ts from "typescript"
import { modulesOf } from "./Modules.ts"

/** Reads only the package's own declarations. The text contains the names of other packages anyway. */
const parse = (files: ReadonlyArray<string>): ts.Program => {
  const options: ts.CompilerOptions = { noLib: true, types: [], noEmit: true }
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (names, importer) =>
    names.map(({ text }) => ({
      resolvedModule: text.startsWith(".")
        ? {
          resolvedFileName: join(dirname(importer), text.replace(/\.tsx?$/, ".d.ts")),
          extension: ts.Extension.Dts
        }
        : undefined
    }))
  return ts.createProgram(files, options, host)
}

const printer = ts.createPrinter({ removeComments: true })

/** Writes out the `X_base` that the compiler makes of `extends Schema.Class(…)`. */
const withoutBase = (text: string, source: ts.SourceFile): string =>
  text.replace(/extends (\w+_base)\b/, (whole, name: string) => {
    const base = source.statements.filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => [...declarationList.declarations])
      .find((declaration) => declaration.name.getText(source) === name)
    return base?.type === undefined ? whole : `extends ${base.type.getText(source)}`
  })

/** Maximum number of characters of a line. The rest of a longer one is replaced by a hash of the whole. */
const maxLength = 400

const shorten = (text: string): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)} … #${createHash("sha256").update(text).digest("hex").slice(0, 8)}`

const textOf = (declaration: ts.Declaration): string => {
  const source = declaration.getSourceFile()
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  return withoutBase(printer.printNode(ts.EmitHint.Unspecified, node, source), source)
    .replace(/\s+/g, " ")
    .replace(/^(?:export )?(?:declare )?/, "")
    .replace(/;$/, "")
}

/** Returns the sorted lines of one package: `Module: declaration`. The package must be built. */
export const listOf = (folder: string): ReadonlyArray<string> => {
  const modules = modulesOf(folder).map((name) => ({ name, file: join(folder, "dist", `${name}.d.ts`) }))
  const program = parse(modules.map(({ file }) => file))
  const checker = program.getTypeChecker()
  return modules.flatMap(({ file, name }) => {
    const source = program.getSourceFile(file)
    const symbol = source && checker.getSymbolAtLocation(source)
    return (symbol === undefined ? [] : checker.getExportsOfModule(symbol)).flatMap((exported) => {
      const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (target.flags & ts.SymbolFlags.ValueModule) return [`${name}: namespace ${exported.name}`]
      // A name that comes from another package has no declaration here.
      const declarations = target.declarations ?? exported.declarations ?? []
      const alias = exported.name === target.name ? "" : `${exported.name} = `
      return declarations.map((declaration) => shorten(`${name}: ${alias}${textOf(declaration)}`))
    })
  }).sort()
}

/** Returns the lines that only one of two lists has. */
export const compare = (before: ReadonlyArray<string>, now: ReadonlyArray<string>) => ({
  gained: now.filter((line) => !before.includes(line)),
  lost: before.filter((line) => !now.includes(line))
})
