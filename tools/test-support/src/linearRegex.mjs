/** A rule for oxlint: regular expressions take time linear in their input, since much of it comes from requests. */
import scslre from "scslre"

/** Describes why a regular expression can take more than linear time; `undefined` if it cannot. */
const problemOf = (source, flags) => {
  const [report] = scslre.analyse({ source, flags }).reports
  if (report === undefined) return undefined
  const time = report.exponential ? "exponential" : "quadratic"
  return `This regular expression takes ${time} time on a run of /${report.character.literal.source}/.`
}

const create = (context) => {
  const check = (node, source, flags) => {
    const message = problemOf(source, flags)
    if (message !== undefined) context.report({ node, message })
  }
  const checkCall = (node) => {
    const [source, flags] = node.arguments
    if (node.callee.name !== "RegExp" || typeof source?.value !== "string") return
    check(node, source.value, typeof flags?.value === "string" ? flags.value : "")
  }
  return {
    Literal: (node) => {
      if (node.regex) check(node, node.regex.pattern, node.regex.flags)
    },
    CallExpression: checkCall,
    NewExpression: checkCall
  }
}

export default { meta: { name: "startlist" }, rules: { "linear-regex": { create } } }
