import { describe, expect } from "bun:test"
import { writeFileSync } from "node:fs"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as KubeConfig from "./KubeConfig.fixture.ts"

describe("A client certificate", () => {
  const { pki, write } = KubeConfig.make()

  effect("is used again if only its chain was renewed", () =>
    Effect.gen(function* () {
      const user = { "client-certificate": write(pki.client.certificate), "client-key": write(pki.client.key) }
      const cluster = yield* KubeConfig.load({ kubeconfig: write(KubeConfig.config({ user })) })
      const chain = `${pki.client.certificate}\n${pki.ca}`
      writeFileSync(user["client-certificate"], chain)
      yield* TestClock.adjust("1 minute")
      expect((yield* cluster.credentials).tls.cert).toBe(chain)
    })
  )
})
