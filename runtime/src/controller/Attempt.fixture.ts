/** The record of an attempt, for the tests of observers. */
import * as CachedReads from "../client/CachedReads.ts"
import type { Exchange } from "../client/Exchange.ts"
import { type Attempt, Outcome } from "./Attempt.ts"

/** A reconcile of `Widget default/a` that took 25 ms and did nothing, with the differences of a test. */
export const attempt = (over: Partial<Attempt> = {}): Attempt => ({
  id: "id",
  controller: "widgets",
  kind: "Widget",
  key: "default/a",
  uid: "u",
  generation: 1,
  resourceVersion: "1",
  object: undefined,
  priority: 0,
  triggers: [],
  dropped: 0,
  droppedNews: 0,
  number: 1,
  queuedAt: 0,
  startedAt: 10,
  finishedAt: 35,
  outcome: Outcome.Done(),
  next: { _tag: "Wait" },
  exchanges: [],
  requests: over.exchanges?.length ?? 0,
  reads: CachedReads.none,
  memory: undefined,
  corrections: [],
  hide: (text) => text,
  changes: [],
  root: undefined,
  ...over
})

/** A PATCH with the response 200 after a millisecond. */
export const exchange = (over: Partial<Exchange> = {}): Exchange => ({
  request: { method: "PATCH", path: "/x", template: "/x", headers: {}, repeatable: true },
  startedAt: 0,
  millis: 1,
  status: 200,
  error: undefined,
  resends: 0,
  auditId: undefined,
  span: undefined,
  ...over
})
