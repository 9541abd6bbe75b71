/** Several managers apply, change and release fields, for each way to merge values. */
import * as J from "@homeostat/apiserver/model/Json"
import { apply, create, force, merge, of, put, spec } from "./Script.ts"
import * as Things from "./Things.ts"

export const scripts = of(Things.v1, {
  "managers that apply conflict, force, share and give up fields": [
    apply("a", spec({ name: "one", count: 2, granular: { x: "1", y: "2" } })),
    apply("a", spec({ name: "one", count: 2, granular: { x: "1", y: "2" } })),
    apply("b", spec({ name: "two" })),
    apply("b", spec({ name: "two", count: 3, granular: { x: "9" } })),
    apply("b", spec({ name: "one", granular: { x: "1", z: "3" } })),
    force("b", spec({ name: "two", granular: { x: "1", z: "3" } })),
    apply("a", spec({ count: 2, granular: { y: "2" } })),
    apply("a", spec({ count: 2 })),
    apply("b", spec({ granular: { z: "3" } })),
    apply("b", {}),
    apply("a", {})
  ],
  "the server merges lists by one key": [
    apply(
      "a",
      spec({
        items: [
          { name: "x", value: "1", tags: ["p", "q"] },
          { name: "y", value: "2" }
        ]
      })
    ),
    apply(
      "b",
      spec({
        items: [
          { name: "z", value: "3" },
          { name: "x", tags: ["q", "r"] }
        ]
      })
    ),
    apply(
      "a",
      spec({
        items: [
          { name: "y", value: "2" },
          { name: "x", value: "1", tags: ["p"] }
        ]
      })
    ),
    apply("a", spec({ items: [{ name: "y", value: "2" }] })),
    apply("b", spec({ items: [{ name: "x" }, { name: "z" }] })),
    apply("b", spec({ items: [{ name: "y", value: "9" }] })),
    apply("b", spec({ items: [] })),
    apply(
      "a",
      spec({
        items: [
          { name: "y", value: "2" },
          { name: "y", value: "3" }
        ]
      })
    ),
    apply("a", spec({ items: [{ value: "2" }] })),
    apply("a", spec({ items: null })),
    apply("a", spec({ name: "n" }))
  ],
  "the server merges lists by two keys, one of which has a default": [
    apply(
      "a",
      spec({
        ports: [
          { port: 80, title: "web" },
          { port: 53, protocol: "UDP" }
        ]
      })
    ),
    apply(
      "b",
      spec({
        ports: [
          { port: 80, protocol: "TCP", title: "web" },
          { port: 53, protocol: "TCP" }
        ]
      })
    ),
    apply("b", spec({ ports: [{ port: 80, title: "other" }] })),
    apply("a", spec({ ports: [{ port: 53, protocol: "UDP" }] })),
    put("c", (live) => {
      J.member(live, "spec").ports = [{ port: 80, protocol: "TCP", title: "put" }]
    }),
    apply("a", spec({ ports: [{ protocol: "UDP" }] }))
  ],
  "the server merges sets": [
    apply("a", spec({ tags: ["x", "<y>", 'q"&'], numbers: [1, 2, 10] })),
    apply("b", spec({ tags: ["z", "x"], numbers: [3, 1] })),
    apply("a", spec({ tags: ["x"], numbers: [10] })),
    merge("c", spec({ tags: ["x", "w"] })),
    apply("b", spec({ tags: ["z"] })),
    apply("b", spec({ tags: ["z", "z"] })),
    apply("b", spec({ tags: [{ a: "b" }] })),
    apply("b", spec({}))
  ],
  "the server orders merged lists": [
    create(
      "creator",
      spec({ tags: ["a", "x", "b", "y", "c"], items: ["a", "x", "b", "y", "c"].map((name) => ({ name })) })
    ),
    apply("a", spec({ tags: ["c", "a", "b"], items: ["c", "a", "b"].map((name) => ({ name, value: "1" })) })),
    apply("a", spec({ tags: ["n", "y", "m", "x"], items: ["n", "y", "m", "x"].map((name) => ({ name, value: "1" })) })),
    apply("b", spec({ tags: ["q", "b", "a", "r"], items: ["q", "b", "a", "r"].map((name) => ({ name })) })),
    apply("b", spec({ tags: ["r", "q", "x", "y"] })),
    apply("a", spec({ tags: ["b", "c", "z"] }))
  ],
  "the server replaces atomic lists and maps": [
    apply("a", spec({ atoms: ["x", "y"], plain: [{ a: "1" }], whole: { a: "1" }, block: { a: "1" } })),
    apply("b", spec({ atoms: ["x"] })),
    apply("b", spec({ atoms: ["x", "y"], plain: [{ a: "1" }], whole: { a: "1" }, block: { a: "1" } })),
    apply("b", spec({ whole: { a: "1", b: "2" }, block: { b: "2" }, plain: [{ b: "1" }] })),
    force("b", spec({ whole: { b: "2" }, block: { b: "2" }, plain: [{ b: "1" }], atoms: [] })),
    apply("a", spec({ atoms: [] })),
    apply("b", spec({ whole: {}, block: {} })),
    apply("b", spec({}))
  ],
  "the server merges fields without a schema": [
    apply(
      "a",
      spec({ open: { a: { b: 1, c: [1, { d: 2 }] } }, half: { known: "k", other: { x: [1] } }, anything: { p: "q" } })
    ),
    apply("b", spec({ open: { a: { b: 2 } }, half: { other: { y: 1 }, deep: { a: "1", more: { z: 1 } } } })),
    apply("b", spec({ open: { a: { e: 2 } }, half: { other: { y: 1 }, deep: { a: "1", more: { z: 1 } } } })),
    force("b", spec({ anything: ["now", "a", "list"], open: { a: "scalar" } })),
    merge("c", spec({ anything: 5, open: { a: { b: null } } })),
    apply("a", spec({ open: {} })),
    apply(
      "a",
      spec({
        amount: 5,
        embedded: {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "x", labels: { l: "1" } },
          data: { a: "b" }
        }
      })
    ),
    apply(
      "b",
      spec({ amount: "5%", embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { m: "1" } } } })
    ),
    force(
      "b",
      spec({ amount: "5%", embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { m: "1" } } } })
    ),
    apply("b", spec({ amount: "5%" }))
  ],
  "the server merges nested objects and maps of objects": [
    apply("a", spec({ deep: { a: { b: { c: "1", d: "2" } } }, groups: { g: { a: "1" }, h: {} } })),
    apply("b", spec({ deep: { a: { b: { d: "2" } } }, groups: { g: { b: "2" } } })),
    apply("a", spec({ deep: { a: {} }, groups: { g: {} } })),
    apply("a", spec({ groups: { g: { a: "1" } } })),
    apply("b", spec({ deep: { a: { b: null } } })),
    apply("a", spec({ settings: { level: "3" } })),
    apply("b", spec({ settings: { mode: "manual" } })),
    force("b", spec({ settings: { mode: "manual" } })),
    apply("b", spec({}))
  ],
  "the server applies nulls": [
    apply("a", spec({ maybe: null, deep: null, granular: null })),
    apply("a", spec({ maybe: "x", granular: { x: "1" }, atoms: ["a"] })),
    apply("b", spec({ maybe: null })),
    force("b", spec({ maybe: null, granular: null })),
    apply("a", spec({ granular: { x: "1" } }))
  ],
  "the server refuses to apply bodies that do not fit the schema": [
    apply("a", spec({ unknown: 1 })),
    apply("a", { other: 1 }),
    apply("a", spec({ name: 1 })),
    apply("a", spec({ name: { a: [1, "x", null, 1.5, true] } })),
    apply("a", spec({ name: ["x"] })),
    apply("a", spec({ count: "x" })),
    apply("a", spec({ count: [1] })),
    apply("a", spec({ ratio: true })),
    apply("a", spec({ on: "yes" })),
    apply("a", spec({ on: { a: 1 } })),
    apply("a", spec({ since: ["x"] })),
    apply("a", spec({ items: { name: "x" } })),
    apply("a", spec({ items: ["x", null] })),
    apply("a", spec({ items: [{ name: "x", value: 1, weight: "heavy" }] })),
    apply("a", spec({ granular: "x" })),
    apply("a", spec({ granular: { a: 1 } })),
    apply("a", spec({ deep: [1, { b: "c" }] })),
    apply("a", spec({ tags: [null] })),
    apply("a", spec({ tags: [["x"]] })),
    apply("a", spec({ plain: [{ c: "x" }, { a: 1 }] })),
    apply("a", spec({ ports: [{ port: 1 }, { port: 1, protocol: "TCP" }, { port: 1 }] })),
    apply("a", spec({ half: { known: 1 } })),
    apply("a", spec({ embedded: { metadata: { labels: { a: 1 } } } })),
    apply("a", { metadata: { labels: { a: 1 } } }),
    apply("a", { metadata: { managedFields: [] } }),
    apply("a", { metadata: { managedFields: null } }),
    apply("a", { apiVersion: "apply.example.com/v2" }),
    apply("a", { kind: "Other" })
  ]
})
