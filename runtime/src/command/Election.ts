/** Leader election on the command line. `run`, `rbac`, `manifests` and `preflight` read the same flags. */
import * as Result from "effect/Result"
import * as LeaderElection from "../manager/LeaderElection.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import { UsageError } from "./Verb.ts"

/** With these flags several managers of one program can work at the same time. */
const partial = ["--controllers", "--namespace", "--selector"] as const

/** The flags. */
export const flags = {
  leaderElect: Flag.toggle("leader-elect", { description: "Let only one of several replicas work at a time" }),
  leaseName: Flag.renamed(
    "leader-elect-lease-name",
    Flag.parsed("leader-elect-resource-name", {
      placeholder: "NAME",
      description: `Name of the Lease, required with ${partial.join(", ")} (default the program's name)`,
      parse: Flags.objectName,
      otherwise: undefined
    })
  ),
  leaseNamespace: Flag.renamed(
    "leader-elect-namespace",
    Flag.parsed("leader-elect-resource-namespace", {
      placeholder: "NAME",
      description: "Namespace of the Lease (default that of the pod, or else of the kubeconfig context)",
      parse: Flags.namespaceName,
      otherwise: undefined
    })
  )
} as const

/** The flags of a manager that takes part in the election. */
export const timing = {
  leaseDuration: Flag.renamed(
    "lease-duration",
    Flag.duration("leader-elect-lease-duration", {
      description: "How long other replicas wait for a leader that does not renew the Lease",
      otherwise: "15s"
    })
  ),
  renewDeadline: Flag.renamed(
    "renew-deadline",
    Flag.duration("leader-elect-renew-deadline", {
      description: "How long a leader continues without renewing the Lease",
      otherwise: "10s"
    })
  ),
  retryPeriod: Flag.renamed(
    "retry-period",
    Flag.duration("leader-elect-retry-period", {
      description: "How often the leader renews the Lease, and others read it if they cannot watch it",
      otherwise: "2s"
    })
  )
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
export const nameOf = (program: Program, settings: Settings): Result.Result<string, UsageError> => {
  if (settings.leaseName !== undefined) return Result.succeed(settings.leaseName)
  const parts = settings.leaderElect ? partsOf(program, settings) : []
  return parts.length === 0
    ? Result.succeed(program.name)
    : Result.fail(
        new UsageError({
          message: `--leader-elect-resource-name: required with --leader-elect and ${parts.join(" and ")} (one name for each manager that works beside others; a manager keeps its name when its flags change)`
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
): Result.Result<{ readonly namespace: string; readonly name: string } | undefined, UsageError> => {
  if (!settings.leaderElect) return Result.succeed(undefined)
  const namespace = settings.leaseNamespace ?? home
  return namespace === undefined
    ? Result.fail(
        new UsageError({
          message:
            "--leader-elect-resource-namespace: required, because neither a pod nor the kubeconfig context has a namespace"
        })
      )
    : Result.map(nameOf(program, settings), (name) => ({ namespace, name }))
}

/** Rejects a Lease without a name, and durations that allow two leaders. Accepts anything without `--leader-elect`. */
export const check = (
  program: Program,
  settings: Settings & Flag.Values<typeof timing>
): Result.Result<void, UsageError> =>
  settings.leaderElect
    ? Result.flatMap(nameOf(program, settings), () =>
        Result.mapBoth(LeaderElection.timesOf(settings), {
          onFailure: ({ message }) => new UsageError({ message }),
          onSuccess: () => undefined
        })
      )
    : Result.succeed(undefined)
