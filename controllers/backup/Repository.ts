/** The repository of a Backup: what restic calls it, and what tells it apart from all others in the cluster. Pure. */
import { createHash } from "node:crypto"
import type { Backup } from "./Backup.ts"
import * as Destination from "./Destination.ts"

/** A repository. */
export interface Repository {
  readonly destination: Destination.Destination
  /** As restic takes it in RESTIC_REPOSITORY. No secret. */
  readonly url: string
  /** Fit for a label. Two Backups with the same one write to the same repository, and do so in turns. */
  readonly hash: string
}

/** Where a `pvc://` destination is mounted in the mover. */
export const mountPath = "/repository"

/** The repository of a Backup, given its destination. */
export const of = (backup: Pick<Backup, "metadata" | "spec">, destination: Destination.Destination): Repository => {
  const { name, namespace = "" } = backup.metadata
  const { endpoint, path } = backup.spec.repository ?? {}
  const place: Destination.Place = { namespace, path: path ?? `${namespace}/${name}`, endpoint, mountPath }
  return {
    destination,
    url: Destination.repository(destination, place),
    hash: createHash("sha256").update(Destination.identity(destination, place)).digest("hex").slice(0, 32)
  }
}
