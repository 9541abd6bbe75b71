/**
 * The second story of the demo: the manager backs up a volume, you lose a file of it, and a restore brings it back byte for byte.
 * The mover is the script of its image, and restic is the real program. Only the container around them is missing. The story fails if a
 * step does not happen in time.
 */
import { createHash, randomBytes } from "node:crypto"
import { symlinkSync } from "node:fs"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import { PersistentVolumeClaim, Secret } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import type { Images } from "@homeostat/testkit/kubelet/Program"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { loadAll } from "js-yaml"
import * as Mover from "../Mover.ts"
import { type Narrator, timed as timedBy } from "./Narrator.ts"
import type { NoRestic } from "./Restic.ts"

/** The time limit of a Backup or Restore. */
const patience = "90 seconds"

/** A step of the story did not happen. */
class NotDone extends Data.TaggedError("NotDone")<{ readonly message: string }> {}

/** The image of movers. The demo may find its restic after the node has started. */
export interface MoverImage {
  readonly images: Images
  /** Sets the path of restic. Call it before the first pod starts. */
  readonly use: (restic: string) => void
}

/** Makes the image. `folder` gets a link named `restic`, because the program may have another name. */
export const image = (folder: string): MoverImage => {
  const path = join(folder, "restic")
  return { images: { [Mover.image]: Mover.program(path) }, use: (restic) => symlinkSync(restic, path) }
}

const samples = join(import.meta.dir, "..", "..", "deploy", "samples")

/** The objects of this kind in a sample. */
const ofKind = <A extends KubernetesObject, D>(texts: ReadonlyArray<unknown>, { kind }: Resource<A, D>) =>
  // These are manifests of this project, which tests validate against the schemas of their kinds.
  (texts as ReadonlyArray<D & { readonly kind?: string; readonly metadata: { readonly name: string } }>).filter(
    (object) => object.kind === kind
  )

const read = (name: string) => Effect.promise(async () => loadAll(await readFile(join(samples, name), "utf8")))

const sha256 = (path: string) =>
  Effect.promise(async () =>
    createHash("sha256")
      .update(await readFile(path))
      .digest("hex")
  )

/** Waits for the end of a Backup or Restore, which has to succeed. */
const ended = <
  A extends KubernetesObject & { readonly status?: { readonly phase?: string; readonly message?: string } }
>(
  what: string,
  look: Effect.Effect<A, unknown, Client.Client>,
  good: string
) =>
  look.pipe(
    Effect.tap(Effect.sleep("50 millis")),
    Effect.repeat({ until: ({ status }) => status?.phase === good || status?.phase === "Failed" }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(new NotDone({ message: `${what}: not over after ${patience}` }))
    }),
    Effect.filterOrFail(
      ({ status }) => status?.phase === good,
      ({ status }) => new NotDone({ message: `${what}: ${status?.message}` })
    )
  )

/**
 * Runs the story with the objects of the samples.
 *
 * @param claimFolder the folder on the node with the files of a claim
 * @param restic the path of restic, which the story waits for before its first step
 */
export const run = (
  narrator: Narrator,
  namespace: string,
  {
    claimFolder,
    mover,
    restic
  }: {
    readonly claimFolder: (claim: string) => string
    readonly mover: MoverImage
    readonly restic: Effect.Effect<string, NoRestic>
  }
) =>
  Effect.gen(function* () {
    yield* narrator.part("A backup, a lost file, and its return")
    mover.use(yield* restic)

    const manifests = yield* read("backup-to-volume.yaml")
    const [backup] = ofKind(manifests, Backup)
    const [restore] = ofKind(yield* read("restore.yaml"), Restore)
    if (backup === undefined || restore === undefined)
      return yield* new NotDone({ message: "a sample is not as it was" })
    const { source } = backup.spec
    const volume = claimFolder(source)
    const name = restore.spec.paths?.[0]?.slice(1) ?? ""
    const file = join(volume, name)
    const timed = timedBy(narrator)

    yield* Effect.promise(async () => {
      await mkdir(volume, { recursive: true })
      await writeFile(join(volume, "notes.txt"), "The light was good that year.\n")
      await writeFile(file, randomBytes(300_000))
    })
    const before = yield* sha256(file)
    yield* narrator.report("you", `put ${name} into volume ${source}: 300000 bytes, SHA-256 ${before.slice(0, 16)}…`)
    yield* narrator.report("you", "apply -f deploy/samples/backup-to-volume.yaml")
    for (const claim of ofKind(manifests, PersistentVolumeClaim)) {
      yield* Client.create(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, namespace } })
    }
    for (const secret of ofKind(manifests, Secret)) {
      yield* Client.create(Secret, { ...secret, metadata: { ...secret.metadata, namespace } })
    }
    yield* Client.create(Backup, { ...backup, metadata: { ...backup.metadata, namespace } })
    const saved = Client.get(Backup, { namespace, name: backup.metadata.name })
    yield* timed(`volume ${source} is saved`, ended("the backup", saved, "Completed"))

    yield* Effect.promise(() => rm(file))
    yield* narrator.report("you", `delete ${name}, by mistake`)
    yield* narrator.report("you", "apply -f deploy/samples/restore.yaml")
    yield* Client.create(Restore, { ...restore, metadata: { ...restore.metadata, namespace } })
    const restored = Client.get(Restore, { namespace, name: restore.metadata.name })
    yield* timed(`${name} is back`, ended("the restore", restored, "Complete"))

    const after = yield* sha256(file)
    if (after !== before)
      return yield* new NotDone({ message: `${name} came back with SHA-256 ${after}, not ${before}` })
    yield* narrator.report("you", `look: SHA-256 ${after.slice(0, 16)}…, every byte as it was`)
  })
