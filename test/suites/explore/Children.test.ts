/** A set of children, explored: a crash between applies and removals, a stale view and a failing request change nothing in the end. */
import { Controller, Owned } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import * as Shops from "../runtime/Shops.ts"

const { Shop } = Shops

const specs = [{ page: "Hello", version: "1" }, { page: "Bye", version: "2" }, { page: "Bye" }] as const

Explore.kind("a set of children survives every fault", Shop, {
  controllers: [Shops.controller],
  specs,
  passes: "10 seconds"
})

/** The same, with a clean-up that keeps the order. */
const removing = Controller.make("shop", {
  for: Shop,
  owns: Shops.owns,
  finalizer: { name: "example.com/children", cleanup: (shop) => Owned.removeAll(shop) },
  reconcile: Shops.reconcile
})

Explore.kind("a clean-up that removes a set of children survives every fault", Shop, {
  controllers: [removing],
  specs: [specs[0]],
  passes: "10 seconds"
})
