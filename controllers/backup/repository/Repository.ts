/** The repository of a Backup: restic's name for it, and its identity in the cluster. Pure. */
import type { Backup } from "../kinds/Backup.ts"
import * as Destination from "./Destination.ts"

/** A repository. */
export interface Repository {
  readonly destination: Destination.Destination
  /** The value of RESTIC_REPOSITORY. Contains no secret. */
  readonly url: string
  /** A valid label value. Backups with the same hash write to the same repository, one at a time. */
  readonly hash: string
}

/** The mount path of a `pvc://` destination in the mover. */
export const mountPath = "/repository"

/** The repository of a Backup with this destination, whose server is `spec.repository.endpoint` or else `server`. */
export const of = (
  backup: Pick<Backup, "metadata" | "spec">,
  destination: Destination.Destination,
  server?: string
): Repository => {
  const { name, namespace = "" } = backup.metadata
  const { endpoint = server, path } = backup.spec.repository ?? {}
  const place: Destination.Place = { namespace, path: path ?? `${namespace}/${name}`, endpoint, mountPath }
  return {
    destination,
    url: Destination.repository(destination, place),
    hash: Bun.CryptoHasher.hash("sha256", Destination.identity(destination, place), "hex").slice(0, 32)
  }
}
