/** The versions and the machine of a measurement. The numbers have no meaning without them. */
import { readFile } from "node:fs/promises"
import { availableParallelism, cpus, totalmem } from "node:os"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import { Effect } from "effect"
import * as Programs from "./Programs.ts"

const machine = Effect.promise(async () => {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "")
  const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? process.platform
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? process.arch})`
  return `${cores}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${system}`
})

/** Describes the date, the versions and the machine in two lines. `peer` adds the version of controller-runtime. */
export const describe = (homeostat: string, peer: boolean) =>
  Effect.gen(function* () {
    const first = (program: string, ...args: ReadonlyArray<string>) =>
      Effect.map(Programs.output([program, ...args]), (text) => text.split("\n")[0]?.trim() ?? "")
    const date = new Date().toISOString().slice(0, 10)
    const program = yield* first(homeostat, "version")
    const commit = yield* Programs.commit
    const go = peer ? (yield* first("go", "version")).split(" ")[2] : undefined
    const version = yield* Programs.versionOf("sigs.k8s.io/controller-runtime")
    const other = peer ? `controller-runtime ${version} (${go}); ` : ""
    const apiServer = yield* first(yield* Assets.find("kube-apiserver"), "--version")
    const etcd = yield* first(yield* Assets.find("etcd"), "--version")
    return [
      `${date}. ${program} (${commit}, Bun ${Bun.version}); ${other}${apiServer}; ${etcd}.`,
      `${yield* machine}; servers, managers and driver on the same machine.`
    ].join("\n")
  })

/** The same description for Homeostat from source on an API server in memory. */
export const source = Effect.gen(function* () {
  const date = new Date().toISOString().slice(0, 10)
  return `${date}. Homeostat from source (${yield* Programs.commit}, Bun ${Bun.version}), an API server in memory; ${yield* machine}.`
})
