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

describe("an own write", () => {
  test("is read at once and stays until the watch tells it", () => {
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

  test("is not laid when its event came first, nor when another write came after it", () => {
    const { answered, event, overlay, seen } = fixture()
    event("7")
    answered("7")
    expect(overlay.size()).toBe(0)
    event("9")
    answered("8")
    expect(seen()).toBe("9")
    expect(overlay.size()).toBe(0)
  })

  test("hides events that are older than it", () => {
    const { answered, event, seen } = fixture()
    answered("7")
    event("6")
    expect(seen()).toBe("7")
    event("8")
    expect(seen()).toBe("8")
  })

  test("ends with an event of any object that came later, or a bookmark, as the watch is past it then", () => {
    const { answered, overlay, seen, event } = fixture()
    event("5")
    answered("7")
    overlay.watched("default/b", web({ name: "b", rv: "8" }))
    overlay.passed("8")
    expect(seen()).toBe("5")
    expect(overlay.size()).toBe(0)
  })

  test("that was answered out of order does not replace the newer one", () => {
    const { answered, seen } = fixture()
    answered("9")
    answered("8")
    expect(seen()).toBe("9")
  })

  test("is found in indexes and lists, and is gone from them when the watch says otherwise", () => {
    const { overlay, table } = fixture()
    overlay.written(key, "7", web({ name: "a", rv: "7", owner: "o", labels: { app: "a" } }))
    expect(table.byOwner(owner("o"))).toHaveLength(1)
    expect(table.list({ namespace: "default", labels: { app: "a" } })).toHaveLength(1)
    overlay.passed("8")
    expect(table.byOwner(owner("o"))).toHaveLength(0)
    expect(table.size()).toBe(0)
  })

  test("with a resourceVersion that is no number is never laid: the watch may be past it", () => {
    const { answered, overlay, seen, event } = fixture()
    event("x5")
    answered("x7")
    expect(seen()).toBe("x5")
    expect(overlay.size()).toBe(0)
  })

  test("that took the object out of the selector hides it until the watch has told so", () => {
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

  test("is given up, oldest first, when a watch is down while thousands of objects are written", () => {
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

describe("an own deletion", () => {
  test("is read at once, whatever older events come before the one that tells it", () => {
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

  test("is given up, oldest first, when a watch is down while thousands of objects are deleted", () => {
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

  test("is forgotten, oldest first, after thousands of deletions that the watch has not shown", () => {
    const { overlay, table } = fixture()
    const names = Array.from({ length: 20_000 }, (_, n) => `n${n}`)
    for (const name of names) overlay.deleted(`default/${name}`, name, undefined)
    const last = names.at(-1) ?? ""
    for (const name of ["n0", last]) overlay.watched(`default/${name}`, web({ name, rv: "1", uid: name }))
    expect(table.get("default/n0")).toBeDefined()
    expect(table.get(`default/${last}`)).toBeUndefined()
  })

  test("that was told before its answer leaves nothing behind", () => {
    const { deleted, event, overlay } = fixture()
    event("5")
    deleted("6")
    overlay.deleted(key, "u1", undefined)
    expect(overlay.size()).toBe(0)
  })

  test("of an object that the watch has not shown yet keeps it hidden when it does", () => {
    const { deleted, event, overlay, seen } = fixture()
    overlay.deleted(key, "u1", undefined)
    event("5")
    expect(seen()).toBeUndefined()
    deleted("6")
    expect(overlay.size()).toBe(0)
  })

  test("does not hide a new object of the same name", () => {
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

  test("answered after the new object was made hides neither it nor its events", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5", "u1")
    answered("9", "u2")
    overlay.deleted(key, "u1", undefined)
    expect(seen()).toBe("9")
    event("9", "u2")
    expect(seen()).toBe("9")
    expect(overlay.size()).toBe(0)
  })

  test("is not undone by the late answer to an older write", () => {
    const { answered, event, overlay, seen } = fixture()
    event("5")
    overlay.deleted(key, "u1", undefined)
    answered("7")
    expect(seen()).toBeUndefined()
    expect(overlay.size()).toBe(1)
  })

  test("takes an own write of the object with it, and does not bring back what was there before that", () => {
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

  test("that was only taken for one, of an object that lives on, hides it no longer than to its next event", () => {
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

test("the answer to a creation does not bring back an object whose deletion was told already", () => {
  const { answered, deleted, event, overlay, seen } = fixture()
  event("5")
  deleted("6")
  answered("5")
  expect(seen()).toBeUndefined()
  expect(overlay.size()).toBe(0)
})

describe("a list", () => {
  test("ends what was answered before it was asked for, whatever its resourceVersion", () => {
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

  test("that is older than a write keeps it, and one that is newer ends it", () => {
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

  test("shows a deleted object again only if it was asked for after the deletion, from a restored backup", () => {
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

test("the overlay of one namespace knows the keys of that namespace only", () => {
  const { overlay, table } = fixture("default")
  table.set("other/x", web({ name: "x", namespace: "other", rv: "1" }))
  overlay.watched(key, a("5"))
  overlay.written("default/b", "9", web({ name: "b", rv: "9" }))
  overlay.watched("default/c", web({ name: "c", rv: "4" }))
  overlay.written("default/c", "8", undefined)
  expect([...overlay.keys()].sort()).toEqual(["default/a", "default/c"])
})
