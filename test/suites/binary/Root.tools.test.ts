/** The program in the root file system of its image, without other files, as in a restricted pod. */
import { describe, expect } from "bun:test"
import { mkdir, readdir } from "node:fs/promises"
import { basename, join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { Effect, Schema } from "effect"
import manifest from "../../../package.json" with { type: "json" }
import * as Root from "../../Root.ts"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Running from "./Running.ts"
import { replicated } from "./Scene.ts"

/** The first test builds the program. */
const buildMillis = 120_000

const prepared = Effect.gen(function* () {
  const folder = join(yield* Directory.make, "root")
  return yield* Root.prepare(folder, yield* Binary.path)
})

const environment = Binary.bare("/nowhere")

/** Inspects the root file system with a script. The program itself runs the script, because it contains Bun. */
const looked = (root: Root.Root, mounts: ReadonlyArray<Root.Mount>) =>
  Effect.gen(function* () {
    const script = `
      const { readdirSync, readFileSync, writeFileSync } = require("node:fs")
      const status = readFileSync("/proc/self/status", "utf8")
      const written = path => { try { writeFileSync(path, "x"); return "written" } catch ({ code }) { return code } }
      console.log(JSON.stringify({
        user: [process.getuid(), process.getgid(), ...process.getgroups()],
        process: process.pid,
        capabilities: [...status.matchAll(/^Cap\\w+:\\s+(\\w+)$/gm)].map(([, set]) => set),
        noNewPrivileges: /^NoNewPrivs:\\s+(.*)$/m.exec(status)[1],
        files: readdirSync("/")
          .filter(top => top !== "proc" && top !== "dev")
          .flatMap(top => readdirSync("/" + top, { recursive: true, withFileTypes: true }))
          .filter(entry => !entry.isDirectory())
          .map(({ parentPath, name }) => parentPath + "/" + name)
          .sort(),
        written: Object.fromEntries(["/new", "/usr/local/bin/new", "/lib/new", "/tmp/new", "/settings/new", "/data/new"]
          .map(path => [path, written(path)]))
      }))`
    const running = yield* Running.start(Root.command(root, ["-e", script], { mounts }), {
      ...environment,
      BUN_BE_BUN: "1"
    })
    const { code, stderr, stdout } = yield* running.ended("40 seconds")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return yield* Schema.decodeEffect(Schema.fromJsonString(Look))(stdout)
  })

const Look = Schema.Struct({
  user: Schema.Array(Schema.Number),
  process: Schema.Number,
  capabilities: Schema.Array(Schema.String),
  noNewPrivileges: Schema.String,
  files: Schema.Array(Schema.String),
  written: Schema.Record(Schema.String, Schema.String)
})

describe("In a root directory of its own, without a shell,", () => {
  live(
    "only the C library is beside the program, which prints its version",
    () =>
      Effect.gen(function* () {
        const root = yield* prepared
        const libraries = root.files.filter((path) => path !== root.program).map((path) => basename(path))
        expect(libraries).toEqual(expect.arrayContaining(["libc.so.6", "libm.so.6"]))
        // The base image has no other libraries: only a larger base has libstdc++.
        const others = libraries.filter((name) => !/^(ld-linux-.*|lib(c|m|dl|pthread|rt))\.so(\.\d+)*$/.test(name))
        expect(others).toEqual([])
        const running = yield* Running.start(Root.command(root, ["version"]), environment)
        const end = yield* running.ended("40 seconds")
        expect(end).toMatchObject({ code: 0, stderr: "" })
        expect(end.stdout).toStartWith(`homeostat ${manifest.version}`)
      }),
    buildMillis
  )

  live("the program runs as an unprivileged user without capabilities, and can write only to volumes", () =>
    Effect.gen(function* () {
      const root = yield* prepared
      const [settings, data] = [join(root.folder, "..", "settings"), join(root.folder, "..", "data")]
      yield* Effect.promise(async () => {
        await Promise.all([mkdir(settings), mkdir(data)])
        await Bun.write(join(settings, "name"), "value")
      })
      const look = yield* looked(root, [
        { from: settings, to: "/settings" },
        { from: data, to: "/data", writable: true }
      ])
      expect(look).toEqual({
        user: [Root.user, Root.user],
        process: 1,
        capabilities: Array.from({ length: 5 }, () => "0".repeat(16)),
        noNewPrivileges: "1",
        files: ["/settings/name", ...root.files].sort(),
        written: {
          "/new": "EROFS",
          "/usr/local/bin/new": "EROFS",
          "/lib/new": "EROFS",
          "/tmp/new": "ENOENT",
          "/settings/new": "EROFS",
          "/data/new": "written"
        }
      })
    })
  )

  replicated("the program becomes ready, and ends with exit code 0 after SIGTERM", (cluster, namespace) =>
    Effect.gen(function* () {
      const root = yield* prepared
      const files = Effect.promise(async () => (await readdir(root.folder, { recursive: true })).sort())
      const before = yield* files
      const program = yield* Running.start(
        Root.command(root, ["run", "--kubeconfig=/kubeconfig", `--namespace=${namespace}`], {
          mounts: [{ from: cluster.admin.kubeconfigPath, to: "/kubeconfig" }]
        }),
        Binary.probed("/nowhere")
      )
      yield* Managed.eventually("that it is ready", Endpoint.get(program, "/readyz"), ({ status }) => status === 200)
      yield* program.signal("SIGTERM")
      const end = yield* program.ended("20 seconds")
      expect(end.code).toBe(0)
      expect(end.stderr.trimEnd().split("\n").at(-1)).toContain(`"msg":"Stopped"`)
      expect(yield* files).toEqual(before)
    })
  )

  Shared.cluster(
    "a pod runs the program with its volumes: it reads a file there, and its output is the log and the message of the pod",
    (cluster) =>
      Effect.gen(function* () {
        const root = yield* prepared
        const namespace = yield* cluster.namespace("root")
        const directory = yield* Directory.make
        const key = { namespace, name: "homeostat" }
        yield* Effect.gen(function* () {
          const images = { homeostat: Root.image(root, ["/settings"]) }
          const kubelet = yield* Kubelet.start({ name: namespace, directory, images })
          yield* Client.create(ConfigMap, { metadata: key, data: { kubeconfig: "- not\n- a mapping\n" } })
          yield* Client.create(Pod, {
            metadata: key,
            spec: {
              nodeName: namespace,
              restartPolicy: "Never",
              volumes: [{ name: "settings", configMap: { name: key.name } }],
              containers: [
                {
                  name: "manager",
                  image: "homeostat:0.2.0-dev",
                  args: ["run", "--kubeconfig=/settings/kubeconfig"],
                  env: Object.entries(environment).map(([name, value]) => ({ name, value: value ?? "" })),
                  volumeMounts: [{ name: "settings", mountPath: "/settings" }],
                  terminationMessagePolicy: "FallbackToLogsOnError"
                }
              ]
            }
          })
          const { status } = yield* Managed.eventually(
            "that it has ended",
            Client.get(Pod, key),
            ({ status }) => status?.phase === "Failed"
          )
          expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
            exitCode: 1,
            message: expect.stringContaining("/settings/kubeconfig is not a kubeconfig")
          })
          expect(JSON.parse(yield* kubelet.logs(key))).toMatchObject({
            level: "error",
            msg: expect.stringContaining("/settings/kubeconfig is not a kubeconfig")
          })
        }).pipe(Effect.provide(NodeFileSystem.layer), Effect.provide(yield* Managed.client(cluster)))
      }),
    { controllers: true }
  )
})
