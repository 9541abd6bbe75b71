/**
 * Requests of a reconcile: what the reconcile asked, the server's answer, and what it changed.
 */
import * as Context from "effect/Context"
import type * as Tracer from "effect/Tracer"
import * as Attribute from "../telemetry/Attribute.ts"
import type { Request } from "./Request.ts"

/** A request and its answer. Watches are none. */
export interface Exchange {
  readonly request: Request
  /** Milliseconds of the Clock. */
  readonly startedAt: number
  readonly millis: number
  /** The answer's, the last one's if it was sent several times; absent when there was none. */
  readonly status: number | undefined
  /** The tag of the `ApiError` that came of it. */
  readonly error: string | undefined
  /** How many times it was sent again. */
  readonly resends: number
  /** By which the server's audit log knows it; absent where it was not traced. */
  readonly auditId: string | undefined
  /** Where it was traced. */
  readonly span: Tracer.Span | undefined
  /** What a write did; absent for reads, and for writes that failed. */
  write?: Written | undefined
}

/** What a write did. */
export interface Written {
  readonly kind: string
  /** The UID of the object that was written; absent if the answer does not have the object. */
  readonly uid?: string | undefined
  readonly verb: string
  readonly subresource: string | undefined
  readonly fieldManager: string | undefined
  readonly before: string | undefined
  readonly after: string | undefined
  /** How long before the answer its manager changed the object last, in ms; absent where the answer does not say. */
  readonly age?: number | undefined
  /** Whether it changed what is stored; absent where it is not known: see `WriteOptions.before`. A deletion is taken to. */
  readonly changed: boolean | undefined
}

/** The record keeps the first reads and the first writes of a reconcile, up to this number. */
export const most = 256

/** What is only tried changes nothing: it must not take the place of what does. */
const isRead = ({ dryRun, method }: Request): boolean => method === "GET" || dryRun === true

/** Both the time of a change and the time of an answer are whole seconds. */
const graceMillis = 2000

/** What one reconcile asked. */
export class Ledger {
  private readonly exchanges = new Map<Request, Exchange>()
  private own: Map<string, string> | undefined
  private reads = 0
  private writes = 0
  readonly add = (exchange: Exchange): void => {
    const nth = isRead(exchange.request) ? ++this.reads : ++this.writes
    if (nth <= most) this.exchanges.set(exchange.request, exchange)
  }
  /** Records the effect of a write after its answer is read, also if its span has already ended. */
  readonly wrote = (request: Request, write: Omit<Written, "changed">): void => {
    const { after, age = 0, before, fieldManager, uid } = write
    const exchange = this.exchanges.get(request)
    // A write that changed nothing is answered with the version that another writer made.
    const isIdle =
      (after !== undefined && after === before) || age > (exchange?.millis ?? Number.POSITIVE_INFINITY) + graceMillis
    if (uid !== undefined && after !== undefined && !isIdle) {
      this.own ??= new Map()
      this.own.set(after, uid)
    }
    if (exchange === undefined) return
    const isPlain = exchange.status === 201 || (write.verb === "delete" && before === undefined)
    const changed = isPlain ? true : isIdle ? false : before === undefined ? undefined : true
    exchange.write = { ...write, changed }
    const { span } = exchange
    if (span === undefined) return
    if (fieldManager !== undefined) span.attribute(Attribute.fieldManager, fieldManager)
    if (before !== undefined) span.attribute(Attribute.resourceVersionBefore, before)
    if (after !== undefined) span.attribute(Attribute.resourceVersionAfter, after)
    if (changed !== undefined) span.attribute(Attribute.changed, changed)
  }
  /** The versions that its writes made, all of them: UIDs by resourceVersion. */
  readonly versions = (): ReadonlyMap<string, string> | undefined => this.own
  /** How many there were, those that are not kept included. */
  readonly count = (): number => this.reads + this.writes
  /** In the order in which they ended, up to {@link most} reads and as many writes. */
  readonly all = (): ReadonlyArray<Exchange> => Array.from(this.exchanges.values())
}

/** The ledger of the reconcile that an effect runs in; `undefined` outside of one. */
export class Exchanges extends Context.Reference<Exchanges>()("@homeostat/runtime/Exchanges", {
  defaultValue: (): Ledger | undefined => undefined
}) {}
