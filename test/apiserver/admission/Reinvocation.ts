/**
 * The second round of mutating admission. As soon as a policy or a webhook changed the object, the whole chain runs again: the admission
 * plugins, then the policies and the webhooks with the `reinvocationPolicy` IfNeeded that were called before the change.
 */
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"

/** The calls of one part of the chain: of the policies, or of the webhooks. */
export class Calls {
  readonly #reinvocation: Reinvocation
  readonly #again = new Set<string>()
  #called = new Set<string>()
  #last: JsonObject | null = null

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation
  }

  /** 0, or 1 for the second round. */
  get round(): number {
    return this.#reinvocation.isSecond ? 1 : 0
  }

  /** Begins a round with the object as the parts before left it. */
  begin(object: JsonObject | null): void {
    if (this.#reinvocation.isSecond && !Json.equal(object, this.#last)) this.#requireAgain()
  }

  /** Whether a policy or webhook is skipped in this round. */
  skips(key: string): boolean {
    return this.#reinvocation.isSecond && !this.#again.has(key)
  }

  /** Notes a call. */
  called(key: string, reinvocationPolicy: Json.Json | undefined): void {
    if (reinvocationPolicy === "IfNeeded") this.#called.add(key)
  }

  /**
   * Notes a patch, and a change if the object before differs from the object after it. For a kube-apiserver the first patch of a built-in
   * object is always a change: the times of its managers lose their nanoseconds.
   */
  patched({ custom }: Kind, before: JsonObject | null, after: JsonObject | null): void {
    const isFirst = !this.#reinvocation.isPatched
    this.#reinvocation.isPatched = true
    if ((isFirst && !custom) || !Json.equal(before, after)) this.changed()
  }

  /** Notes a change of the object. */
  changed(): void {
    this.#requireAgain()
    this.#reinvocation.isNeeded = true
  }

  /** Ends a round with the object that it left. */
  end(object: JsonObject | null): void {
    this.#last = object
  }

  #requireAgain(): void {
    for (const one of this.#called) this.#again.add(one)
    this.#called = new Set()
  }
}

/** The rounds of one request. */
export class Reinvocation {
  isSecond = false
  isNeeded = false
  isPatched = false
  readonly policies = new Calls(this)
  readonly webhooks = new Calls(this)
}
