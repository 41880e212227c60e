/** Rules for oxlint: time and memory are bounded, whatever a request contains. */
import scslre from "scslre"

/** Describes why a regular expression can take more than linear time; `undefined` if it cannot. */
const problemOf = (source, flags) => {
  const [report] = scslre.analyse({ source, flags }).reports
  if (report === undefined) return undefined
  const time = report.exponential ? "exponential" : "quadratic"
  return `This regular expression takes ${time} time on a run of /${report.character.literal.source}/.`
}

/** Much of what is matched comes from requests. */
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

/** Calls `visit` for a node and everything in it. */
const walk = (node, visit) => {
  visit(node)
  for (const [name, value] of Object.entries(node)) {
    if (name === "parent" || typeof value !== "object" || value === null) continue
    for (const child of [value].flat()) if (typeof child?.type === "string") walk(child, visit)
  }
}

/** Whether a body pushes the value with this name into an array. */
const collects = (body, name) => {
  let found = false
  walk(body, (node) => {
    if (node.type !== "CallExpression" || node.callee.property?.name !== "push") return
    if (node.arguments.some((argument) => argument.type === "Identifier" && argument.name === name)) found = true
  })
  return found
}

/** An object for each piece of a body costs more memory than the piece: the sender chooses how small it is. */
const createBounded = (context) => {
  const message = "Do not collect the pieces of a stream: copy them into one bounded buffer."
  const report = (node) => context.report({ node, message })
  return {
    ForOfStatement: (node) => {
      const name = node.left.declarations?.[0]?.id?.name
      if (node.await && name !== undefined && collects(node.body, name)) report(node)
    },
    CallExpression: (node) => {
      const [event, listener] = node.arguments
      if (node.callee.property?.name !== "on" || event?.value !== "data") return
      const name = listener?.params?.[0]?.name
      if (name !== undefined && collects(listener.body, name)) report(node)
    }
  }
}

export default {
  meta: { name: "startlist" },
  rules: { "linear-regex": { create }, "bounded-body": { create: createBounded } }
}
