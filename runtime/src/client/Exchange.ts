/** The requests of a reconcile: each request, the server's response, and its effect. */
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as SecretValues from "../telemetry/SecretValues.ts"
import type { ApiError } from "./ApiError.ts"
import * as CachedReads from "./CachedReads.ts"
import type { Request } from "./Request.ts"
import type { Response } from "./Response.ts"

/** A request and its response. Watches are not recorded. */
export interface Exchange {
  readonly request: Request
  /** Milliseconds of the Clock. */
  readonly startedAt: number
  readonly millis: number
  /** The status of the last response; absent without a response. */
  readonly status: number | undefined
  /** The tag of the `ApiError`. */
  readonly error: string | undefined
  /** The number of retries. */
  readonly resends: number
  /** The ID in the server's audit log; absent without a trace. */
  readonly auditId: string | undefined
  /** The span of the request. */
  readonly span: Tracer.Span | undefined
  /** The response or the error; absent if the responses of the reconcile exceed {@link mostBytes}. */
  readonly answer?: Exit.Exit<Response, ApiError> | undefined
  /** Its order among the requests of the reconcile. */
  readonly order?: Order | undefined
  /** The effect of a write; absent for reads and failed writes. */
  write?: WriteOutcome | undefined
}

/** The number of requests of the reconcile that had ended when one began, and when it had ended. */
export interface Order {
  readonly began: number
  readonly ended: number
}

/** The effect of a write. */
export interface WriteOutcome {
  readonly kind: string
  /** The UID of the written object; absent if the response does not have the object. */
  readonly uid?: string | undefined
  readonly verb: string
  readonly subresource: string | undefined
  readonly fieldManager: string | undefined
  readonly before: string | undefined
  readonly after: string | undefined
  /** The time from the manager's last change of the object to the response, in ms; absent if the response does not say. */
  readonly age?: number | undefined
  /** Whether it changed the stored object; absent if unknown: see `WriteOptions.before`. True for a deletion. */
  readonly changed: boolean | undefined
}

/** The record keeps the first reads and the first writes of a reconcile, up to this number. */
export const most = 256

/** The record keeps the first responses of a reconcile, up to this number of characters. */
export const mostBytes = 1024 * 1024

/** A dry run changes nothing, so it counts as a read. */
const isRead = ({ dryRun, method }: Request): boolean => method === "GET" || dryRun === true

/** The time of a change and the time of a response are both in whole seconds. */
const graceMillis = 2000

/**
 * The time since the manager's last change of the object, in ms. The API server's clock notes it in whole seconds. `undefined` if the
 * response does not say. Infinity if another manager changed the object in a later second: then this request did not change it.
 *
 * @internal
 */
export const ageOf = (
  { metadata: { managedFields = [] } }: KubernetesObject,
  { fieldManager, subresource }: Pick<WriteOutcome, "fieldManager" | "subresource">,
  { headers }: Response
): number | undefined => {
  let [own, latest] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const entry of managedFields) {
    const time = Date.parse(entry.time ?? "")
    if (time > latest) latest = time
    if (entry.manager === fieldManager && entry.subresource === subresource && !(time <= own)) own = time
  }
  if (latest > own && own > Number.NEGATIVE_INFINITY) return Number.POSITIVE_INFINITY
  const age = Date.parse(headers.get("date") ?? "") - own
  return Number.isFinite(age) ? age : undefined
}

/** The requests of one reconcile. */
export class Ledger {
  private readonly exchanges = new Map<Request, Exchange>()
  private own: Map<string, string> | undefined
  private reads = 0
  private writes = 0
  private bytes = 0
  private cached: Array<CachedReads.CachedRead> | undefined
  private cachedCount = 0
  private secrets: SecretValues.SecretValues | undefined
  /** The values to note before the next search in a text. */
  private unread: Array<(values: SecretValues.SecretValues) => void> | undefined
  private suspected: unknown
  readonly add = (exchange: Exchange): void => {
    if (SecretValues.isSecretPath(exchange.request.path)) {
      const { answer, request } = exchange
      this.saw(request.body)
      if (answer?._tag === "Success") this.saw(answer.value.body, request.secretKeys)
    }
    const nth = isRead(exchange.request) ? ++this.reads : ++this.writes
    if (nth > most) return
    if (exchange.answer?._tag === "Success") this.bytes += exchange.answer.value.body.length
    this.exchanges.set(exchange.request, this.bytes > mostBytes ? { ...exchange, answer: undefined } : exchange)
  }
  /** Records the effect of a write after its answer is read, also if its span has already ended. */
  readonly wrote = (request: Request, write: Omit<WriteOutcome, "changed">): void => {
    const { after, age = 0, before, fieldManager, uid } = write
    const exchange = this.exchanges.get(request)
    // The response to a write without changes has the version of another writer.
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
  /** Records a read of the cache. */
  read(
    verb: CachedReads.CachedRead["verb"],
    resource: CachedReads.CachedRead["resource"],
    of: CachedReads.CachedRead["of"],
    found: CachedReads.CachedRead["found"]
  ): void {
    if (found !== undefined && resource.kind === "Secret" && resource.group === "") this.saw(found)
    if (++this.cachedCount > CachedReads.most) return
    const read = { verb, resource, of, found }
    if (this.cached === undefined) this.cached = [read]
    else this.cached.push(read)
  }
  /** The reads of the cache. */
  cachedReads(): CachedReads.CachedReads {
    return this.cached === undefined ? CachedReads.none : { kept: this.cached, count: this.cachedCount }
  }
  private later(note: (values: SecretValues.SecretValues) => void): void {
    if (this.unread === undefined) this.unread = [note]
    else this.unread.push(note)
  }
  /** Notes a Secret, a list of them, or the body of a request for Secrets. `keys`: those that matter; default all. */
  saw(secret: unknown, keys?: ReadonlyArray<string>): void {
    if (secret === undefined) return
    this.later((values) => {
      const read = typeof secret === "string" ? SecretValues.jsonOf(secret) : secret
      // A list of the cache. In a body, a list is a JSON patch.
      for (const one of Array.isArray(secret) ? secret : [read]) values.learn(one, true, keys)
    })
  }
  /** Notes the values of an object if it is a Secret, and of fields and variables with names of secrets. */
  suspect(object: unknown): void {
    // A failure is reported in several places.
    if (object === this.suspected) return
    this.suspected = object
    this.later((values) => {
      values.learn(object, false)
      values.learnNamed(object)
    })
  }
  /** Whether `hide` may change a text. */
  hasSecrets(): boolean {
    return this.unread !== undefined || this.secrets !== undefined
  }
  /**
   * A text without the values of the Secrets that the reconcile has read or written, and without those that `suspect` noted. If they are too
   * many to search, a notice.
   */
  hide(text: string): string {
    if (this.unread !== undefined) {
      this.secrets ??= SecretValues.make()
      for (const note of this.unread) note(this.secrets)
      this.unread = undefined
    }
    return this.secrets === undefined ? text : this.secrets.replaced(text, () => Secrecy.hidden)
  }
  /** The UIDs by resourceVersion of all versions that its writes created. */
  readonly versions = (): ReadonlyMap<string, string> | undefined => this.own
  /** The number of all requests, including those that are not kept. */
  readonly count = (): number => this.reads + this.writes
  /** In the order of their ends, up to {@link most} reads and as many writes. */
  readonly all = (): ReadonlyArray<Exchange> => Array.from(this.exchanges.values())
}

/** The ledger of the reconcile that an effect runs in; `undefined` outside of one. */
export const Exchanges = Context.Reference("@homeostat/runtime/Exchanges", {
  defaultValue: (): Ledger | undefined => undefined
})
