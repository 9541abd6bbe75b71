import { expect } from "bun:test"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import { live } from "@homeostat/testkit/Test"
import { Effect, FileSystem } from "effect"
import { ask, make, thing, things } from "../http/Client.fixture.ts"
import * as State from "./Snapshot.ts"

live("a server continues from the folder with the state of another one", () =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const folder = `${yield* files.makeTempDirectoryScoped()}/state`
    expect(yield* State.load(folder)).toBeUndefined()
    const server = yield* make()
    yield* ask(server, "POST", things, thing("a", { spec: { color: "red" } }))
    yield* State.save({ saved: () => ({ ...server.saved(), ahead: 1000 }) }, folder)
    expect((yield* State.load(folder))?.ahead).toBe(1000)
    const again = yield* make({ saved: yield* State.load(folder) })
    expect((yield* ask(again, "GET", `${things}/a`)).text).toBe((yield* ask(server, "GET", `${things}/a`)).text)
    yield* files.writeFileString(`${folder}/state.json`, "{}")
    expect((yield* Effect.flip(State.load(folder)))._tag).toBe("Unreadable")
  }).pipe(Effect.provide([NodeFileSystem.layer, NodePath.layer]))
)

live("only the owner can read a state, in a folder of any mode and after a state that others could read", () =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const [open, fresh] = [
      `${yield* files.makeTempDirectoryScoped()}/open`,
      `${yield* files.makeTempDirectoryScoped()}/a`
    ]
    yield* files.makeDirectory(open)
    yield* files.chmod(open, 0o777)
    for (const name of ["state.json", "state.json.new"]) {
      yield* files.writeFileString(`${open}/${name}`, "{}")
      yield* files.chmod(`${open}/${name}`, 0o644)
    }
    const modeOf = (path: string) => Effect.map(files.stat(path), ({ mode }) => (mode & 0o777).toString(8))
    const server = yield* make()
    for (const folder of [open, fresh]) {
      yield* State.save(server, folder)
      expect([folder, yield* modeOf(`${folder}/state.json`)]).toEqual([folder, "600"])
    }
    expect(yield* modeOf(fresh)).toBe("700")
  }).pipe(Effect.provide([NodeFileSystem.layer, NodePath.layer]))
)
