/** Existing repositories that open quickly. Otherwise, restic takes half a second for each start. */
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { Effect } from "effect"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as Scene from "./Scene.ts"

/** The password of every repository. */
export const password = "correct horse"

let template: Promise<string> | undefined

const make = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "homeostat-repository-"))
  AtEnd.add(() => {
    template = undefined
    return rm(folder, { recursive: true, force: true })
  })
  const path = join(folder, "repository")
  const env = { RESTIC_REPOSITORY: path, RESTIC_PASSWORD: password, RESTIC_CACHE_DIR: join(folder, "cache") }
  await Effect.runPromise(Effect.andThen(Restic.output(env, "init"), QuickKey.write(path, env)))
  return path
}

/** Copies an empty repository into a new folder. */
export const into = (path: string): Effect.Effect<Scene.Repository> =>
  Effect.promise(async () => {
    template ??= make()
    mkdirSync(dirname(path), { recursive: true })
    cpSync(await template, path, { recursive: true })
    return { repository: path, password }
  })

/**
 * Creates the usual objects for a Backup `shop` of claim `app` to `pvc://store`: both claims, the credentials, and an empty repository.
 *
 * @param files the initial files of `app`
 */
export const shop = (scene: Scene.Scene, files: { readonly [path: string]: string | Uint8Array } = { a: "first" }) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shop-backup-credentials", { RESTIC_PASSWORD: password })
    const app = yield* Scene.claim(scene, "app", { files })
    const store = yield* Scene.claim(scene, "store")
    return { app, repository: yield* into(join(store, scene.namespace, "shop")) }
  })

/** The number of a repository's pack files, which shows the progress of a run without running restic. */
export const packs = ({ repository }: Scene.Repository): number =>
  readdirSync(join(repository, "data"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length

/** The names of the locks, without running restic. restic first writes a lock to a temporary file with a longer name. */
export const locks = (repository: string): ReadonlyArray<string> =>
  readdirSync(join(repository, "locks")).filter((name) => /^[0-9a-f]{64}$/.test(name))

/** The number of a repository's locks. */
export const locked = ({ repository }: Scene.Repository): number => locks(repository).length

/** All files of a folder by their paths. */
export const files = (folder: string): { readonly [path: string]: string } =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }): [string, string] => {
        const path = join(parentPath, name)
        return [path.slice(folder.length + 1), readFileSync(path, "base64")]
      })
      .sort(([one], [other]) => one.localeCompare(other))
  )
