/** The record of a request to a webhook, for the tests of observers. */
import { ConfigMap } from "../resource/BuiltIn.ts"
import type * as Call from "./Call.ts"

/** A creation of ConfigMap `default/page` that was allowed, with the differences of a test. */
export const admission = (over: Partial<Call.Admission> = {}): Call.Admission => ({
  resource: ConfigMap,
  uid: "review",
  operation: "CREATE",
  namespace: "default",
  name: "page",
  objectUid: "u",
  dryRun: false,
  username: "ann",
  answer: answer(),
  ...over
})

/** A response that allows the request without a message, with the differences of a test. */
export const answer = (over: Partial<NonNullable<Call.Admission["answer"]>> = {}) => ({
  denial: undefined,
  warnings: [],
  patch: [],
  ...over
})

/** A request that took 5 ms, with the differences of a test. */
export const call = (over: Partial<Call.Call> = {}): Call.Call => ({
  method: "POST",
  path: "/validate-v1-configmap",
  client: { address: "10.0.0.1", isVerified: true },
  startedAt: 10,
  finishedAt: 15,
  admission: undefined,
  conversion: undefined,
  status: 200,
  problem: undefined,
  panicked: false,
  root: undefined,
  ...over
})
