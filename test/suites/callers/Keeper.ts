/** The fixture as a process, and its callers. */
import { join } from "node:path"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Home from "../client/Home.ts"

const command = [process.execPath, join(import.meta.dir, "fixtures", "keeper.ts")]

/** Starts the fixture on free ports. */
export const start = (
  cluster: ControlPlane,
  flags: ReadonlyArray<string>,
  { kubeconfig = cluster.admin.kubeconfigPath, ...environment }: Running.Environment = {}
) =>
  Running.start([...command, "run", `--kubeconfig=${kubeconfig}`, "--log-format=json", ...flags], {
    ...Binary.probed(cluster.directory),
    ...environment
  })

/** Runs another verb of the fixture to its end. */
export const run = (cluster: ControlPlane, args: ReadonlyArray<string>) =>
  Effect.flatMap(Running.start([...command, ...args], Binary.bare(cluster.directory)), (program) =>
    program.ended("40 seconds")
  )

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A JSON Web Token without a valid signature. */
export const unsigned = `${part({ alg: "RS256" })}.${part({ sub: "made-up" })}.c2lnbmF0dXJl`

/** The log so far. */
export const lines = (program: Running.Running): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  program
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))

/** The address of metrics or probes. */
export const address = (program: Running.Running, what: "metrics" | "probes") =>
  Effect.map(program.written(new RegExp(`Serving ${what} on `)), (line) => / on ([0-9.]+:\d+)/.exec(line)?.[1] ?? "")

/** The response to a request, without a check of the certificate. */
export const ask = (
  url: string,
  options: {
    readonly token?: string | undefined
    readonly method?: string | undefined
    readonly headers?: Readonly<Record<string, string>> | undefined
    readonly body?: string | undefined
  } = {}
) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: options.method ?? "GET",
      ...(options.body !== undefined && { body: options.body }),
      headers: {
        connection: "close",
        ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
        ...options.headers
      },
      tls: { rejectUnauthorized: false }
    })
    return { status: response.status, body: await response.text() }
  })

/** A token of a new service account. The rule is its only permission. */
export const account = (
  cluster: ControlPlane,
  namespace: string,
  name: string,
  rule: { readonly path: string; readonly verbs: ReadonlyArray<string> } | undefined
) =>
  Effect.gen(function* () {
    const { text, user } = yield* Home.token(cluster, namespace, name)
    if (rule !== undefined) {
      const metadata = { name: `${namespace}-${name}` }
      const rbac = "/apis/rbac.authorization.k8s.io/v1"
      yield* cluster.request("POST", `${rbac}/clusterroles`, {
        body: { metadata, rules: [{ nonResourceURLs: [rule.path], verbs: rule.verbs }] }
      })
      yield* cluster.request("POST", `${rbac}/clusterrolebindings`, {
        body: {
          metadata,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name },
          subjects: [{ kind: "ServiceAccount", namespace, name }]
        }
      })
    }
    return { token: text, user }
  })
