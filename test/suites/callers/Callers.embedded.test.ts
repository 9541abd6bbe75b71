/** Secure metrics on a cluster without tokens. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as SelfSigned from "@homeostat/runtime/manager/SelfSigned"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Keeper from "./Keeper.ts"

describe.concurrent("Secure metrics", () => {
  Shared.cluster("reject callers without a token that the API server knows", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const program = yield* Keeper.start(cluster, ["--metrics-secure", `--namespace=${namespace}`])
      const at = yield* Keeper.address(program, "metrics")
      yield* program.written(/Starting controller keeper/)
      expect((yield* Keeper.ask(`https://${at}/metrics`)).status).toBe(401)
      expect(yield* Keeper.ask(`https://${at}/metrics`, { token: Keeper.unsigned })).toEqual({
        status: 401,
        body: "the API server does not know this token\n"
      })
      expect(yield* Keeper.ask(`https://${at}/metrics`, { token: "rubbish" })).toEqual({
        status: 401,
        body: "this is not a token of a cluster: a JSON Web Token is required (other tokens take --opaque-tokens)\n"
      })
      const plain = yield* Effect.result(Effect.tryPromise(() => fetch(`http://${at}/metrics`)))
      expect(plain._tag).toBe("Failure")
      const probes = yield* Keeper.address(program, "probes")
      expect((yield* Keeper.ask(`http://${probes}/healthz`)).status).toBe(200)
    })
  )

  Shared.cluster("use the certificate of a folder, and a new one without a restart", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const folder = yield* Directory.make
      const put = ({ certificate, key }: ReturnType<typeof SelfSigned.make>) =>
        Effect.promise(() =>
          Promise.all([writeFile(join(folder, "tls.crt"), certificate), writeFile(join(folder, "tls.key"), key)])
        )
      const pair = () => SelfSigned.make(["127.0.0.1"], Date.now())
      const [first, second] = [pair(), pair()]
      yield* put(first)
      const program = yield* Keeper.start(cluster, [
        "--metrics-secure",
        `--metrics-cert-dir=${folder}`,
        `--namespace=${namespace}`
      ])
      const metrics = `https://${yield* Keeper.address(program, "metrics")}/metrics`
      yield* program.written(/Starting controller keeper/)
      const trusting = ({ certificate }: { readonly certificate: string }) =>
        Effect.result(Effect.tryPromise(() => fetch(metrics, { keepalive: false, tls: { ca: certificate } })))
      expect(yield* trusting(first)).toMatchObject({ _tag: "Success", success: { status: 401 } })
      expect((yield* trusting(second))._tag).toBe("Failure")
      yield* put(second)
      yield* Managed.eventually("the new certificate", trusting(second), ({ _tag }) => _tag === "Success")
      expect((yield* trusting(first))._tag).toBe("Failure")
      expect(Keeper.lines(program).filter(({ level }) => level !== "info")).toEqual([])
    })
  )
})
