import { describe, expect, test } from "bun:test"
import * as Overlay from "./Overlay.ts"
import { owner, web } from "./Scripted.fixture.ts"
import * as Store from "./Store.ts"

const key = "default/a"
const a = (rv: string, uid = "u1", labels: { readonly [key: string]: string } = {}) =>
  web({ name: "a", rv, uid, labels })

const fixture = (namespace?: string) => {
  const table = Store.make()
  const overlay = Overlay.make(table, namespace)
  return {
    table,
    overlay,
    /** The resourceVersion that a reader sees, with the UID if it matters. */
    seen: () => table.get(key)?.metadata.resourceVersion,
    event: (rv: string, uid?: string) => {
      overlay.watched(key, a(rv, uid))
      overlay.passed(rv)
    },
    deleted: (rv: string) => {
      overlay.watched(key, undefined)
      overlay.passed(rv)
    },
    answered: (rv: string, uid?: string) => overlay.written(key, rv, a(rv, uid))
  }
}

describe("An own write", () => {
  test("is visible at once, until its event arrives", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5")
    answered("7")
    expect(seen()).toBe("7")
    expect(overlay.base(key)?.metadata.resourceVersion).toBe("5")
    overlay.passed("6")
    expect(seen()).toBe("7")
    event("7")
    expect(seen()).toBe("7")
    expect(overlay.size()).toBe(0)
  })

  test("is ignored if its event or a later write came first", () => {
    const { answered, event, overlay, seen } = fixture()
    event("7")
    answered("7")
    expect(overlay.size()).toBe(0)
    event("9")
    answered("8")
    expect(seen()).toBe("9")
    expect(overlay.size()).toBe(0)
  })

  test("hides older events", () => {
    const { answered, event, seen } = fixture()
    answered("7")
    event("6")
    expect(seen()).toBe("7")
    event("8")
    expect(seen()).toBe("8")
  })

  test("ends with a later event of any object or a later bookmark", () => {
    const { answered, overlay, seen, event } = fixture()
    event("5")
    answered("7")
    overlay.watched("default/b", web({ name: "b", rv: "8" }))
    overlay.passed("8")
    expect(seen()).toBe("5")
    expect(overlay.size()).toBe(0)
  })

  test("does not replace a newer write if the answers are out of order", () => {
    const { answered, seen } = fixture()
    answered("9")
    answered("8")
    expect(seen()).toBe("9")
  })

  test("is found in indexes and lists, until a later bookmark contradicts it", () => {
    const { overlay, table } = fixture()
    overlay.written(key, "7", web({ name: "a", rv: "7", owner: "o", labels: { app: "a" } }))
    expect(table.byOwner(owner("o"))).toHaveLength(1)
    expect(table.list({ namespace: "default", labels: { app: "a" } })).toHaveLength(1)
    overlay.passed("8")
    expect(table.byOwner(owner("o"))).toHaveLength(0)
    expect(table.size()).toBe(0)
  })

  test("with a resourceVersion that is not a number is ignored", () => {
    const { answered, overlay, seen, event } = fixture()
    event("x5")
    answered("x7")
    expect(seen()).toBe("x5")
    expect(overlay.size()).toBe(0)
  })

  test("that leaves the selector hides the object until the watch confirms it", () => {
    const { deleted, event, overlay, seen } = fixture()
    event("5")
    overlay.written(key, "7", undefined)
    expect(seen()).toBeUndefined()
    event("6")
    expect(seen()).toBeUndefined()
    deleted("7")
    expect(overlay.size()).toBe(0)
    // The object may come back, because leaving the selection is not a deletion.
    event("9")
    expect(seen()).toBe("9")
  })

  test("is dropped, oldest first, above 8192 writes without an event", () => {
    const { overlay, table } = fixture()
    const sizes: Array<number> = []
    for (let n = 0; n < 20_000; n++) {
      overlay.written(`default/n${n}`, `${n + 1}`, web({ name: `n${n}`, rv: `${n + 1}` }))
      sizes.push(overlay.size())
    }
    expect(Math.max(...sizes)).toBe(8192)
    expect(Math.min(...sizes.slice(8192))).toBe(8192 - 1024)
    expect(table.get("default/n0")).toBeUndefined()
    expect(table.get("default/n19999")).toBeDefined()
  })
})

describe("An own deletion", () => {
  test("is visible at once, and hides older events until its own event", () => {
    const { deleted, event, overlay, seen } = fixture()
    event("5")
    overlay.deleted(key, "u1", undefined)
    expect(seen()).toBeUndefined()
    event("6")
    expect(seen()).toBeUndefined()
    expect(overlay.size()).toBe(1)
    deleted("8")
    expect(seen()).toBeUndefined()
    expect(overlay.size()).toBe(0)
  })

  test("is dropped, oldest first, above 8192 deletions without an event", () => {
    const { overlay, table } = fixture()
    const names = Array.from({ length: 20_000 }, (_, n) => `n${n}`)
    for (const name of names) overlay.watched(`default/${name}`, web({ name, rv: "1", uid: name }))
    const sizes = names.map((name) => {
      overlay.deleted(`default/${name}`, name, undefined)
      return overlay.size()
    })
    expect(Math.max(...sizes)).toBe(8192)
    expect(table.get("default/n0")).toBeDefined()
    expect(table.get("default/n19999")).toBeUndefined()
    // The events of the watch remove all remaining overlays.
    for (const name of names) overlay.watched(`default/${name}`, undefined)
    expect([overlay.size(), table.size()]).toEqual([0, 0])
  })

  test("of an unknown object is dropped, oldest first, above the limit", () => {
    const { overlay, table } = fixture()
    const names = Array.from({ length: 20_000 }, (_, n) => `n${n}`)
    for (const name of names) overlay.deleted(`default/${name}`, name, undefined)
    const last = names.at(-1) ?? ""
    for (const name of ["n0", last]) overlay.watched(`default/${name}`, web({ name, rv: "1", uid: name }))
    expect(table.get("default/n0")).toBeDefined()
    expect(table.get(`default/${last}`)).toBeUndefined()
  })

  test("whose event came before its answer leaves no entry", () => {
    const { deleted, event, overlay } = fixture()
    event("5")
    deleted("6")
    overlay.deleted(key, "u1", undefined)
    expect(overlay.size()).toBe(0)
  })

  test("of an object that the watch has not shown yet hides the later event", () => {
    const { deleted, event, overlay, seen } = fixture()
    overlay.deleted(key, "u1", undefined)
    event("5")
    expect(seen()).toBeUndefined()
    deleted("6")
    expect(overlay.size()).toBe(0)
  })

  test("does not hide a new object with the same name", () => {
    const { answered, event, overlay, seen, deleted } = fixture()
    event("5", "u1")
    overlay.deleted(key, "u1", undefined)
    answered("9", "u2")
    expect(seen()).toBe("9")
    event("6", "u1")
    deleted("8")
    expect(seen()).toBe("9")
    event("9", "u2")
    expect(seen()).toBe("9")
    expect(overlay.size()).toBe(0)
  })

  test("answered after the creation of a new object hides neither the object nor its events", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5", "u1")
    answered("9", "u2")
    overlay.deleted(key, "u1", undefined)
    expect(seen()).toBe("9")
    event("9", "u2")
    expect(seen()).toBe("9")
    expect(overlay.size()).toBe(0)
  })

  test("is not reverted by the late answer to an older write", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5")
    overlay.deleted(key, "u1", undefined)
    answered("7")
    expect(seen()).toBeUndefined()
    expect(overlay.size()).toBe(1)
  })

  test("removes an earlier own write, and does not restore an older object", () => {
    const { answered, deleted, event, overlay, seen } = fixture()
    event("5", "u1")
    answered("7", "u2")
    overlay.deleted(key, "u2", undefined)
    expect(seen()).toBeUndefined()
    deleted("6")
    event("7", "u2")
    expect(seen()).toBeUndefined()
    deleted("8")
    expect(overlay.size()).toBe(0)
  })

  test("that was assumed wrongly hides the object only until its next event", () => {
    const { event, overlay, seen } = fixture()
    event("5")
    overlay.deleted(key, "u1", "6")
    expect(seen()).toBeUndefined()
    event("6")
    expect(seen()).toBeUndefined()
    event("7")
    expect(seen()).toBe("7")
    expect(overlay.size()).toBe(0)
    overlay.deleted(key, "u1", "6")
    expect(seen()).toBe("7")
  })
})

test("a late answer to a creation does not restore a deleted object", () => {
  const { answered, deleted, event, overlay, seen } = fixture()
  event("5")
  deleted("6")
  answered("5")
  expect(seen()).toBeUndefined()
  expect(overlay.size()).toBe(0)
})

describe("A list", () => {
  test("drops writes answered before its request, whatever its resourceVersion", () => {
    const { answered, event, overlay, seen } = fixture()
    event("50")
    answered("70")
    overlay.relisting()
    // A server that was restored from a backup continues with a lower resourceVersion.
    overlay.relisted("40")
    overlay.watched(key, a("30"))
    expect(seen()).toBe("30")
    expect(overlay.size()).toBe(0)
  })

  test("keeps a newer write, and drops an older one", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5")
    overlay.relisting()
    answered("9")
    overlay.relisted("8")
    overlay.watched(key, a("7"))
    expect(seen()).toBe("9")
    overlay.relisting()
    answered("10")
    overlay.relisted("12")
    overlay.watched(key, a("11"))
    expect(seen()).toBe("11")
    expect(overlay.size()).toBe(0)
  })

  test("shows a deleted object again only if it started after the deletion, as after a restore from a backup", () => {
    const { event, overlay, seen } = fixture()
    event("5")
    overlay.relisting()
    overlay.deleted(key, "u1", undefined)
    overlay.relisted("5")
    overlay.watched(key, a("5"))
    expect(seen()).toBeUndefined()
    overlay.relisting()
    overlay.relisted("4")
    overlay.watched(key, a("4"))
    expect(seen()).toBe("4")
    expect(overlay.size()).toBe(0)
  })
})

test("The overlay of one namespace contains only keys of that namespace", () => {
  const { overlay, table } = fixture("default")
  table.set("other/x", web({ name: "x", namespace: "other", rv: "1" }))
  overlay.watched(key, a("5"))
  overlay.written("default/b", "9", web({ name: "b", rv: "9" }))
  overlay.watched("default/c", web({ name: "c", rv: "4" }))
  overlay.written("default/c", "8", undefined)
  expect([...overlay.keys()].sort()).toEqual(["default/a", "default/c"])
})
