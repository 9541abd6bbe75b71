/**
 * The library, a namespace for each noun: `Controller.make`, `Owned.apply`, `Client.get`. In the order the data flows. Every
 * module can also be imported by its path, `@homeostat/runtime/controller/Controller`, which loads nothing else.
 */
export * as BuiltIn from "./resource/BuiltIn.ts"
export * as Condition from "./resource/Condition.ts"
export * as Crd from "./resource/Crd.ts"
export * as CustomResource from "./resource/CustomResource.ts"
export * as Field from "./resource/Field.ts"
export * as KubernetesObject from "./resource/KubernetesObject.ts"
export * as Resource from "./resource/Resource.ts"
export * as Time from "./resource/Time.ts"

export * as Backoff from "./queue/Backoff.ts"

export * as ApiError from "./client/ApiError.ts"
export * as Client from "./client/Client.ts"
export * as Cluster from "./client/Cluster.ts"
export * as KubeConfig from "./client/KubeConfig.ts"
export * as Patch from "./client/Patch.ts"
export * as Transport from "./client/Transport.ts"

export * as Cache from "./cache/Cache.ts"

export * as EventRecorder from "./events/EventRecorder.ts"

export * as Attempt from "./controller/Attempt.ts"
export * as Controller from "./controller/Controller.ts"
export * as Finalizer from "./controller/Finalizer.ts"
export * as Owned from "./controller/Owned.ts"
export * as Predicate from "./controller/Predicate.ts"
export * as Reconciliation from "./controller/Reconciliation.ts"
export * as Result from "./controller/Result.ts"
export * as Status from "./controller/Status.ts"
export { TerminalError } from "./controller/TerminalError.ts"
export * as Trigger from "./controller/Trigger.ts"

export * as Manager from "./manager/Manager.ts"

export * as Program from "./command/Program.ts"
