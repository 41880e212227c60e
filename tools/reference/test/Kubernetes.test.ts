/**
 * The Kubernetes manifests are valid by the published models of the API, without unknown fields. kustomize renders them
 * if kubectl is installed. Not tested: a cluster.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { Deployment } from "kubernetes-models/apps/v1/Deployment"
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget"
import { ConfigMap } from "kubernetes-models/v1/ConfigMap"
import { Service } from "kubernetes-models/v1/Service"
import { parse, parseAllDocuments } from "yaml"
import { repository } from "@startlist/test-support/CleanCopy"
import { outputOf, runProgram, succeeds } from "@startlist/test-support/RunProgram"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as Configuration from "@startlist/node/settings/Configuration"

const folder = join(repository, "packaging/kubernetes")
const read = (name: string): string => readFileSync(join(folder, name), "utf8")

/** Each kind, its model, and the module of the model. */
const kinds = {
  ConfigMap: { make: (given: object) => new ConfigMap(given), path: "v1/ConfigMap" },
  Deployment: { make: (given: object) => new Deployment(given), path: "apps/v1/Deployment" },
  NetworkPolicy: { make: (given: object) => new NetworkPolicy(given), path: "networking.k8s.io/v1/NetworkPolicy" },
  PodDisruptionBudget: {
    make: (given: object) => new PodDisruptionBudget(given),
    path: "policy/v1/PodDisruptionBudget"
  },
  Service: { make: (given: object) => new Service(given), path: "v1/Service" }
}

const isKind = (kind: unknown): kind is keyof typeof kinds => typeof kind === "string" && kind in kinds

type Manifest = { readonly kind: keyof typeof kinds } & Readonly<Record<string, unknown>>

const manifestsOf = (text: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(text).map((document) => {
    const manifest = document.toJS()
    return isKind(manifest.kind) ? manifest : expect.fail(`no model of ${manifest.kind}`)
  })

/** Fields that the models do not have, which the compiler reports: a misspelt one would have no effect. */
const findingsIn = (manifests: ReadonlyArray<Manifest>) =>
  Effect.flatMap(temporaryFolder, (place) => {
    for (const manifest of manifests) kinds[manifest.kind].make(manifest).validate()
    const models = join(createRequire(import.meta.url).resolve("kubernetes-models/package.json"), "..")
    const lines = manifests.map((manifest, index) =>
      `import { I${manifest.kind} as Kind${index} } from "${models}/${kinds[manifest.kind].path}"
export const manifest${index}: Kind${index} = ${JSON.stringify(manifest, undefined, 1)}`
    )
    const file = join(place, "manifests.ts")
    writeFileSync(file, lines.join("\n"))
    const compiler = join(repository, "node_modules/.bin/tsc")
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--types", ""]
    const compiled = Effect.promise(() => runProgram(compiler, [...options, file], { cwd: place }))
    return Effect.map(compiled, ({ stdout }) => stdout)
  })

const { images, resources, configMapGenerator: [{ envs, name }] } = parse(read("kustomization.yaml"))
const sources = manifestsOf(resources.map(read).join("---\n"))
const { template: { spec: pod } } = parse(read("deployment.yaml")).spec
const settings = Object.fromEntries(
  envs.flatMap((file: string) => read(file).split("\n"))
    .filter((line: string) => /^[A-Z]/.test(line))
    .map((line: string) => line.split(/=(.*)/))
)

describe("the Kubernetes manifests", () => {
  it.scopedLive("are valid, without unknown fields", () =>
    Effect.gen(function*() {
      expect(new Set(sources.map(({ kind }) => kind))).toEqual(
        new Set(["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"])
      )
      expect(yield* findingsIn(sources)).toBe("")
    }))

  it.scopedLive("a value of the wrong type and a misspelt field are found", () =>
    Effect.gen(function*() {
      const [first] = sources
      if (first === undefined) return expect.fail("there is none")
      const misspelt = { ...first, spec: { ...Object(first["spec"]), replicaz: 3 } }
      expect(yield* findingsIn([misspelt])).toContain("'\"replicaz\"' does not exist")
      const wrong = { ...first, spec: { ...Object(first["spec"]), replicas: "two" } }
      expect((yield* Effect.exit(findingsIn([wrong])))._tag).toBe("Failure")
    }))

  it.scopedLive.skipIf(!succeeds("kubectl", "version", "--client"))(
    "are rendered by kustomize, with the settings (needs kubectl)",
    () =>
      Effect.gen(function*() {
        const rendered = manifestsOf(yield* Effect.promise(() => outputOf("kubectl", ["kustomize", folder])))
        expect(rendered).toHaveLength(sources.length + 1)
        expect(rendered.find(({ kind }) => kind === "ConfigMap")?.["data"]).toEqual(settings)
        expect(yield* findingsIn(rendered)).toBe("")
      })
  )

  it.effect("have existing, consistent settings, and no secrets except mounted files", () =>
    Effect.gen(function*() {
      const { DATABASE_URL_FILE, MASTER_KEY_FILE, OPERATOR_TOKEN_FILE, ...others } = settings
      const files = [DATABASE_URL_FILE, MASTER_KEY_FILE, OPERATOR_TOKEN_FILE]
      for (const container of [...pod.initContainers, ...pod.containers]) {
        const [{ mountPath, name: volume, readOnly }] = container.volumeMounts
        expect(files.map((file) => file.slice(0, file.lastIndexOf("/")))).toEqual(files.map(() => mountPath))
        expect(readOnly).toBe(true)
        expect(container.envFrom).toEqual([{ configMapRef: { name } }])
        expect(pod.volumes).toEqual([{ name: volume, secret: { secretName: "startlist", defaultMode: 0o440 } }])
      }
      const { processes } = yield* Configuration.decode({
        ...others,
        DATABASE_URL: "postgres://startlist:secret@db.test/startlist",
        OPERATOR_TOKEN: "t".repeat(32),
        MASTER_KEY: Buffer.alloc(32, 3).toString("base64")
      }, false)
      const [main] = pod.containers
      expect(main.resources.requests.cpu).toBe(String(processes))
      const [, seconds] = main.lifecycle.preStop.exec.command
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 10)
    }))

  it("let requests in at the port of the service only, and have a version of the image", () => {
    const { spec: { ingress, podSelector } } = parse(read("network-policy.yaml"))
    expect(podSelector.matchLabels).toEqual(parse(read("deployment.yaml")).spec.selector.matchLabels)
    expect(ingress).toEqual([{ ports: [{ protocol: "TCP", port: pod.containers[0].ports[0].containerPort }] }])
    const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
    expect(images).toMatchObject([{ newTag: version }])
  })

  it("restart a pod only if its process does not answer, and send no requests to a pod that is not ready", () => {
    const [{ livenessProbe, readinessProbe, startupProbe }] = pod.containers
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual(
      ["/healthz", "/healthz", "/readyz"]
    )
  })

  it("run without privileges, with a read-only file system", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    for (const { securityContext } of [...pod.initContainers, ...pod.containers]) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] }
      })
    }
  })
})
