/** Leader election on the command line. `run`, `rbac`, `manifests` and `preflight` read the same flags. */
import * as Either from "effect/Either"
import * as LeaderElection from "../manager/LeaderElection.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import { UsageError } from "./Verb.ts"

/** With these flags several managers of one program can work at the same time. */
const partial = ["--controllers", "--namespace", "--selector"] as const

/** The flags. */
export const flags = {
  leaderElect: Flag.toggle("leader-elect", { description: "Of several replicas, only one works at a time" }),
  leaseName: Flag.parsed("leader-elect-lease-name", {
    placeholder: "NAME",
    description: `Name of the Lease; default the program's name, required with ${partial.join(", ")}`,
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

/** The flags of a manager that takes part in the election. */
export const timing = {
  leaseDuration: Flag.duration("lease-duration", {
    description: "How long other replicas wait for a leader that does not renew the Lease",
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

/** The flags that give the name of a Lease. */
export interface Settings extends Flag.Values<typeof flags> {
  readonly controllers: ReadonlyArray<string>
  readonly namespaces: ReadonlyArray<string>
  readonly selector: string | undefined
}

/** A program with its controllers. */
export interface Program {
  readonly name: string
  readonly controllers: ReadonlyArray<{ readonly name: string }>
}

/** The flags that limit a manager to a part of the program. */
const partsOf = ({ controllers }: Program, settings: Omit<Settings, keyof typeof flags>): ReadonlyArray<string> => {
  const is: { readonly [flag in (typeof partial)[number]]: boolean } = {
    "--controllers": Flags.chosen(controllers, settings.controllers).length < controllers.length,
    "--namespace": settings.namespaces.length > 0,
    "--selector": settings.selector !== undefined
  }
  return partial.filter((flag) => is[flag])
}

/**
 * The name of the Lease. It does not depend on flags that a rolling update may change: the old and the new pod would hold two Leases
 * and lead at the same time. So a manager of a part needs an explicit name.
 */
export const nameOf = (program: Program, settings: Settings): Either.Either<string, UsageError> => {
  if (settings.leaseName !== undefined) return Either.right(settings.leaseName)
  const parts = settings.leaderElect ? partsOf(program, settings) : []
  return parts.length === 0
    ? Either.right(program.name)
    : Either.left(
        new UsageError({
          message: `--leader-elect-lease-name: required with --leader-elect and ${parts.join(" and ")} (one name for each manager that works beside others; a manager keeps its name when its flags change)`
        })
      )
}

/**
 * The Lease; undefined without `--leader-elect`.
 *
 * @param home the default namespace of the Lease: the pod's, else the context's
 */
export const leaseOf = (
  program: Program,
  settings: Settings,
  home: string | undefined
): Either.Either<{ readonly namespace: string; readonly name: string } | undefined, UsageError> => {
  if (!settings.leaderElect) return Either.right(undefined)
  const namespace = settings.leaseNamespace ?? home
  return namespace === undefined
    ? Either.left(
        new UsageError({
          message:
            "--leader-elect-namespace: say where the Lease is to be, as neither a pod nor the context names a namespace"
        })
      )
    : Either.map(nameOf(program, settings), (name) => ({ namespace, name }))
}

/** Rejects a Lease without a name, and durations that allow two leaders. Accepts anything without `--leader-elect`. */
export const check = (
  program: Program,
  settings: Settings & Flag.Values<typeof timing>
): Either.Either<void, UsageError> =>
  settings.leaderElect
    ? Either.flatMap(nameOf(program, settings), () =>
        Either.mapBoth(LeaderElection.timesOf(settings), {
          onLeft: ({ message }) => new UsageError({ message }),
          onRight: () => undefined
        })
      )
    : Either.right(undefined)
