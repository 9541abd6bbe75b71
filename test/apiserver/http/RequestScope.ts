/**
 * The parts of a server that the handlers of its requests share.
 */
import type { Effect } from "effect"
import type { Impersonation } from "../access/Impersonation.ts"
import type { ServerState } from "../admission/ServerState.ts"
import type { Failure } from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import type { User } from "../model/User.ts"
import type { LogOptions } from "../rest/PodLogs.ts"
import type { Verbs } from "../rest/Verbs.ts"
import type { Shared, Streamed } from "../rest/Watch.ts"

/** Returns the log of a container of this pod. */
export type Logs = (pod: JsonObject, options: LogOptions) => Effect.Effect<string | Streamed, Failure>

/** The state of a server, its verbs, and its settings. */
export interface RequestScope {
  readonly state: ServerState
  readonly verbs: Verbs
  readonly watches: Shared
  /** The groups of built-in kinds, even if this server does not serve all their kinds. */
  readonly builtInGroups: ReadonlySet<string>
  readonly impersonation: Impersonation
  /** The user of a request without credentials. */
  readonly user: User
  /** The address at which clients reach the server: `127.0.0.1:6443`. */
  readonly address: string
  /** The source of logs. A kubelet registers itself. */
  logs: Logs | undefined
}
