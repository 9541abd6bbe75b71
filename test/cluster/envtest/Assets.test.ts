import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { ConfigProvider, Effect } from "effect"
import { effect } from "../Test.ts"
import * as Assets from "./Assets.ts"
import * as Directory from "./Directory.ts"

const find = (program: Assets.Program, settings: Record<string, string>) =>
  Assets.find(program).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(settings))
  )

const folderWith = (...names: ReadonlyArray<string>) =>
  Effect.tap(Directory.make, (folder) =>
    Effect.promise(() => Promise.all(names.map((name) => writeFile(join(folder, name), "", { mode: 0o700 }))))
  )

describe("Assets", () => {
  effect("finds a program in the folder KUBEBUILDER_ASSETS", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith("kube-apiserver")
      expect(yield* find("kube-apiserver", { KUBEBUILDER_ASSETS: folder })).toBe(`${folder}/kube-apiserver`)
    })
  )

  effect("prefers the variable of a program to the folder", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith("kube-apiserver", "other")
      const settings = { KUBEBUILDER_ASSETS: folder, TEST_ASSET_KUBE_APISERVER: `${folder}/other` }
      expect(yield* find("kube-apiserver", settings)).toBe(`${folder}/other`)
    })
  )

  effect("reports the variable and the recipe in one line if nothing is set", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(find("kube-apiserver", {}))
      expect(error.message).toBe(
        `kube-apiserver is missing; set KUBEBUILDER_ASSETS="$(${Assets.folder}/build all | tail -1)", ` +
          "or TEST_ASSET_KUBE_APISERVER to the program itself"
      )
    })
  )

  effect("reports the path of a variable without a program", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(find("etcd", { KUBEBUILDER_ASSETS: "/nowhere" }))
      expect(error.message).toStartWith("etcd is missing: no executable at /nowhere/etcd; set KUBEBUILDER_ASSETS=")
    })
  )

  effect("does not fall back to the folder if the variable of a program is wrong", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith("etcd")
      const error = yield* Effect.flip(
        find("etcd", { KUBEBUILDER_ASSETS: folder, TEST_ASSET_ETCD: `${folder}/nothing` })
      )
      expect(error.path).toBe(`${folder}/nothing`)
    })
  )

  effect("rejects a file that is not executable", () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      yield* Effect.promise(() => writeFile(join(folder, "etcd"), "", { mode: 0o600 }))
      const error = yield* Effect.flip(find("etcd", { KUBEBUILDER_ASSETS: folder }))
      expect(error.path).toBe(`${folder}/etcd`)
    })
  )
})
