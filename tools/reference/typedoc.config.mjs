/** The API reference: a page for each module that a package exports, named by its import path. */
import { Comment, Converter, ReflectionKind } from "typedoc"
import { modulesIn, published } from "./src/Modules.ts"

const modules = published.flatMap(modulesIn)

/** Names modules by their import paths, and gives each the comment at the beginning of its file. */
const nameModules = ({ converter }) => {
  converter.on(Converter.EVENT_CREATE_DECLARATION, (_, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return
    const [, name, module] = /^([\w-]+)\/src(?:\/([\w/]+))?$/.exec(reflection.name) ?? []
    const importPath = module === undefined ? `@startlist/${name}` : `@startlist/${name}/${module}`
    const found = modules.find((one) => one.importPath === importPath)
    if (found === undefined) return
    reflection.name = importPath
    reflection.comment = new Comment([{ kind: "text", text: found.comment }])
  })
}

export default {
  name: "Startlist",
  plugin: ["typedoc-plugin-markdown", nameModules],
  readme: "none",
  entryPoints: modules.map(({ file }) => file),
  tsconfig: "tsconfig.json",
  out: "dist",
  indexFormat: "table",
  useFirstParagraphOfCommentAsSummary: true,
  excludeInternal: true,
  excludeExternals: true,
  excludePrivate: true,
  disableSources: true,
  githubPages: false,
  skipErrorChecking: true,
  treatWarningsAsErrors: true,
  validation: { notExported: false, invalidLink: true, notDocumented: false }
}
