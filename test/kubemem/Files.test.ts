/** The files of kubemem: kubeconfigs, users and manifests. */
import { describe, expect } from "bun:test"
import { lstat, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { load } from "js-yaml"
import * as Kubeconfig from "./Kubeconfig.ts"
import * as Manifests from "./Manifests.ts"
import * as Users from "./Users.ts"

const write = (path: string, text: string) => Effect.promise(() => writeFile(path, text))

const access = { context: "kubemem", server: "https://127.0.0.1:1", ca: "pem", token: "secret" }

describe("A kubeconfig", () => {
  live("keeps the contexts of other clusters, and loses its own at the end", () =>
    Effect.gen(function* () {
      const path = join(yield* Directory.make, "config")
      const other = {
        apiVersion: "v1",
        kind: "Config",
        preferences: {},
        clusters: [{ name: "kind", cluster: { server: "https://kind" } }],
        users: [{ name: "kind", user: { token: "a" } }],
        contexts: [{ name: "kind", context: { cluster: "kind", user: "kind" } }],
        "current-context": "kind"
      }
      yield* write(path, JSON.stringify(other))
      yield* Kubeconfig.add(path, [access, { ...access, context: "kubemem-ann", token: "ann" }])
      const text = yield* Effect.promise(() => readFile(path, "utf8"))
      expect(load(text)).toMatchObject({ "current-context": "kubemem" })
      expect((yield* Effect.promise(() => stat(path))).mode & 0o777).toBe(0o600)
      expect(yield* Kubeconfig.read(path, "kubemem")).toEqual(access)
      // The contexts of another cluster with the same name stay.
      yield* Kubeconfig.remove(path, ["kubemem", "kubemem-ann"], "https://127.0.0.1:2")
      expect(yield* Kubeconfig.read(path, undefined)).toEqual(access)
      yield* Kubeconfig.remove(path, ["kubemem", "kubemem-ann"], access.server)
      const rest = yield* Effect.promise(() => readFile(path, "utf8"))
      expect(load(rest)).toEqual({ ...other, "current-context": "" })
      const { message } = yield* Effect.flip(Kubeconfig.read(path, "kubemem"))
      expect(message).toBe(`context not found: "kubemem" (${path} has kind; start a cluster with kubemem start)`)
    })
  )

  live("is not written through a file or link that another user has put in its place", () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const [path, other] = [join(folder, "config"), join(folder, "other")]
      yield* write(other, "")
      yield* Effect.promise(() => symlink(other, `${path}.kubemem-${process.pid}`))
      yield* Kubeconfig.add(path, [access])
      expect(yield* Effect.promise(() => readFile(other, "utf8"))).toBe("")
      const { mode } = yield* Effect.promise(() => lstat(path))
      expect([mode & 0o777, yield* Kubeconfig.read(path, undefined)]).toEqual([0o600, access])
    })
  )

  live("that is not YAML is not overwritten", () =>
    Effect.gen(function* () {
      const path = join(yield* Directory.make, "config")
      yield* write(path, "a: [")
      const { message } = yield* Effect.flip(Kubeconfig.add(path, [access]))
      expect(message).toStartWith(`cannot read kubeconfig: ${path} (`)
      expect(yield* Effect.promise(() => readFile(path, "utf8"))).toBe("a: [")
    })
  )
})

live("Users have the format of kube-apiserver's token file", () =>
  Effect.gen(function* () {
    expect(yield* Users.parse("f", 'secret,ann,1,"devs, qa"\n# no user\n\nother,bob,2\n')).toEqual([
      { token: "secret", user: { name: "ann", uid: "1", groups: ["devs", "qa"] } },
      { token: "other", user: { name: "bob", uid: "2", groups: [] } }
    ])
    const { message } = yield* Effect.flip(Users.parse("f", "a,b,c\nsecret,ann"))
    expect(message).toBe('--users: invalid line: f:2 (must be token,user,uid,"group1,group2")')
  })
)

live("Manifests are applied with CRDs and namespaces first, and an error names the file", () =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    yield* write(
      join(folder, "all.yaml"),
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: late}\ndata: {mode: 'on'}\n--- # next\napiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n"
    )
    yield* write(join(folder, "notes.txt"), "a: [")
    const { server } = yield* EmbeddedCluster.make({ kubelet: false })
    const manifests = yield* Manifests.read(folder)
    yield* Manifests.apply(server, manifests)
    expect(server.store.get("/configmaps", "late", "c")).toMatchObject({ data: { mode: "on" } })
    const path = join(folder, "wrong.yaml")
    yield* write(path, "apiVersion: v1\nkind: Toy\nmetadata: {name: a}\n")
    const refused = yield* Effect.flip(Effect.flatMap(Manifests.read(path), (all) => Manifests.apply(server, all)))
    expect(refused.message).toBe(`cannot apply Toy "a": ${path} (no matches for kind "Toy" in version "v1")`)
    yield* write(path, "a: [")
    expect((yield* Effect.flip(Manifests.read(path))).message).toStartWith(`invalid manifest: ${path} (`)
  })
)
