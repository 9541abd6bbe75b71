/**
 * The second round of mutating admission. After a policy or a webhook has changed the object, the chain runs again. The admission plugins
 * run first. Then come the policies and webhooks with the `reinvocationPolicy` IfNeeded that were called before the change.
 */
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"

/** The calls of one part of the chain: of the policies or of the webhooks. */
export class Calls {
  readonly #reinvocation: Reinvocation
  readonly #again = new Set<string>()
  #called = new Set<string>()
  #last: JsonObject | null = null

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation
  }

  /** The number of the round: 0, or 1 for the second round. */
  get round(): number {
    return this.#reinvocation.isSecond ? 1 : 0
  }

  /** Begins a round with the object from the earlier parts of the chain. */
  begin(object: JsonObject | null): void {
    if (this.#reinvocation.isSecond && !Json.equal(object, this.#last)) this.#requireAgain()
  }

  /** True if this round skips a policy or webhook. */
  skips(key: string): boolean {
    return this.#reinvocation.isSecond && !this.#again.has(key)
  }

  /** Records a call. */
  called(key: string, reinvocationPolicy: Json.Json | undefined): void {
    if (reinvocationPolicy === "IfNeeded") this.#called.add(key)
  }

  /**
   * Records a patch, and a change if the objects differ. A kube-apiserver always counts the first patch of a built-in object as a change,
   * because the times of its managers lose their nanoseconds.
   */
  patched({ custom }: Kind, before: JsonObject | null, after: JsonObject | null): void {
    const isFirst = !this.#reinvocation.isPatched
    this.#reinvocation.isPatched = true
    if ((isFirst && !custom) || !Json.equal(before, after)) this.changed()
  }

  /** Records a change of the object. */
  changed(): void {
    this.#requireAgain()
    this.#reinvocation.isNeeded = true
  }

  /** Ends a round with the object after it. */
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
