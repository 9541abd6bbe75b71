/** Kubeconfig files for tests, in a folder that is removed after the tests of a file. */
import { afterAll, beforeAll } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as KubeConfig from "./KubeConfig.ts"

/** Text in base64, as inline data of a kubeconfig. */
export const base64 = (text: string) => Buffer.from(text).toString("base64")

/** A kubeconfig with one context `name`, as JSON, which is YAML. */
export const config = (options: {
  readonly name?: string
  readonly server?: string
  readonly cluster?: object
  readonly user?: object
  readonly current?: string
  readonly namespace?: string
}) => {
  const name = options.name ?? "main"
  return JSON.stringify({
    clusters: [{ name, cluster: { server: options.server ?? `https://${name}:6443`, ...options.cluster } }],
    users: [{ name, user: options.user ?? { token: `token-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace } }],
    "current-context": options.current ?? name
  })
}

/** Loads with only these environment variables. */
export const load = (options: KubeConfig.Options, variables: Record<string, string> = {}) =>
  KubeConfig.load(options).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(variables)),
    Effect.provide(NodeFileSystem.layer)
  )

/** The fixture of one test file: call it once, at its top. */
export const make = () => {
  const folder = mkdtempSync(join(tmpdir(), "homeostat-kubeconfig-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const pki = { ca: "", client: { certificate: "", key: "" }, other: { certificate: "", key: "" } }
  beforeAll(async () => {
    const authority = await Effect.runPromise(Certificates.authority)
    pki.ca = authority.certificate
    pki.client = await Effect.runPromise(authority.client("admin", []))
    pki.other = await Effect.runPromise(authority.client("other", []))
  })
  let files = 0
  /** A new file with this text. */
  const write = (text: string, name = `file-${++files}`): string => {
    const file = join(folder, name)
    mkdirSync(join(file, ".."), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  const loadText = (text: string, options: KubeConfig.Options = {}) => load({ kubeconfig: write(text), ...options })
  /** A pod's service account, and a home with a kubeconfig. */
  const places = () => {
    const serviceAccount = join(folder, `sa-${++files}`)
    write("pod-token\n", `sa-${files}/token`)
    write(pki.ca, `sa-${files}/ca.crt`)
    write("pod-namespace", `sa-${files}/namespace`)
    const home = join(folder, `home-${files}`)
    write(config({ name: "home" }), `home-${files}/.kube/config`)
    return { serviceAccount, home }
  }
  return {
    folder,
    /** Filled before the first test. */
    pki,
    write,
    loadText,
    credentials: (text: string) => Effect.flatMap(loadText(text), (cluster) => cluster.credentials),
    /** The message of a failed load, without the folder and the numbers of files. */
    failureOf: (effect: Effect.Effect<unknown, KubeConfig.KubeConfigError>) =>
      Effect.map(Effect.flip(effect), (error) => error.message.replaceAll(folder, "DIR").replace(/file-\d+/g, "FILE")),
    places
  }
}
