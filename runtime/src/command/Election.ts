/** Whether replicas elect a leader, and by which Lease: the same answer for who runs and for who grants the rights to it. */
import { createHash } from "node:crypto"
import * as Either from "effect/Either"
import * as LeaderElection from "../manager/LeaderElection.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import { UsageError } from "./Verb.ts"

/** The flags. */
export const flags = {
  leaderElect: Flag.toggle("leader-elect", { description: "Of several replicas, only one works at a time" }),
  leaseName: Flag.parsed("leader-elect-lease-name", {
    placeholder: "NAME",
    description:
      "The Lease they do it by; default the program's name, with --namespace or --selector one for each slice",
    parse: Flags.objectName,
    otherwise: undefined
  }),
  leaseNamespace: Flag.parsed("leader-elect-namespace", {
    placeholder: "NAME",
    description: "Where that Lease is; default the pod's namespace, else that of the context",
    parse: Flags.namespaceName,
    otherwise: undefined
  })
} as const

/** The flags of who takes part. */
export const timing = {
  leaseDuration: Flag.duration("lease-duration", {
    description: "How long others wait for a leader that renews the Lease no more",
    otherwise: "15s"
  }),
  renewDeadline: Flag.duration("renew-deadline", {
    description: "How long a leader leads on without having renewed the Lease",
    otherwise: "10s"
  }),
  retryPeriod: Flag.duration("retry-period", {
    description: "How often a leader renews the Lease, and others look if they can't watch it",
    otherwise: "2s"
  })
} as const

/** What names a Lease. */
export interface Settings extends Flag.Values<typeof flags> {
  readonly namespaces: ReadonlyArray<string>
  readonly selector: string | undefined
}

/**
 * The name of the Lease unless one is given. Managers that see different slices of a cluster have to lead side by side, so each
 * slice has a name of its own.
 */
export const defaultName = (program: string, { namespaces, selector }: Pick<Settings, "namespaces" | "selector">) => {
  if (namespaces.length === 0 && selector === undefined) return program
  const slice = JSON.stringify([[...new Set(namespaces)].sort(), selector ?? ""])
  return `${program}-${createHash("sha256").update(slice).digest("hex").slice(0, 8)}`
}

/**
 * The Lease; none where no leader is elected.
 *
 * @param home where we are, as far as that is known: the Lease's place if none is given
 */
export const leaseOf = (
  program: string,
  settings: Settings,
  home: string | undefined
): Either.Either<{ readonly namespace: string; readonly name: string } | undefined, UsageError> => {
  if (!settings.leaderElect) return Either.right(undefined)
  const namespace = settings.leaseNamespace ?? home
  const name = settings.leaseName ?? defaultName(program, settings)
  return namespace === undefined
    ? Either.left(
        new UsageError({
          message:
            "--leader-elect-namespace: say where the Lease is to be, as neither a pod nor the context names a namespace"
        })
      )
    : Either.right({ namespace, name })
}

/** Refuses durations that could give two leaders, or none for long. Without an election they do not matter. */
export const check = (
  settings: Pick<Settings, "leaderElect"> & Flag.Values<typeof timing>
): Either.Either<void, UsageError> =>
  settings.leaderElect
    ? Either.mapBoth(LeaderElection.timesOf(settings), {
        onLeft: ({ message }) => new UsageError({ message }),
        onRight: () => undefined
      })
    : Either.right(undefined)
